"""Generates the JSON Schema of every public vocabulary from its types."""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, Union, get_args

import msgspec
from msgspec import Struct
from msgspec.inspect import CollectionType, DictType, StructType, UnionType

from turnwire.core.blocks import ContentBlock
from turnwire.core.content import Content
from turnwire.core.controls import ControlResult
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.lenient import Unknown
from turnwire.core.message import Message
from turnwire.core.message_deltas import MessageDelta
from turnwire.core.ui import UiStreamEvent
from turnwire.core.view import View
from turnwire.dialects.acp.content import AcpContent, ToolContent
from turnwire.dialects.acp.messages import AcpMessage, Response
from turnwire.dialects.acp.messages import UnknownMessage as UnknownAcpMessage
from turnwire.dialects.acp.updates import SessionUpdate
from turnwire.dialects.claude.answers import Answer
from turnwire.dialects.claude.blocks import ClaudeBlock
from turnwire.dialects.claude.control import ControlBody, ControlOutcome
from turnwire.dialects.claude.messages import ClaudeMessage, UnknownMessage
from turnwire.dialects.claude.stream import Delta, StreamEventBody
from turnwire.dialects.claude.system import SystemMessage
from turnwire.dialects.codex.items import ThreadItem
from turnwire.dialects.codex.messages import NEWS, NOTICES, NOTIFICATIONS, REQUESTS
from turnwire.dialects.rpc import RpcMessage
from turnwire.dialects.rpc.frames import (
    Accepted,
    Capabilities,
    Connected,
    History,
    Sessions,
    Stopped,
)
from turnwire.dialects.rpc.frames import ServerFrame as RpcServerFrame
from turnwire.dialects.rpc.methods import METHODS, PermissionReply, QuestionReply
from turnwire.dialects.v2.commands import ClientFrame
from turnwire.dialects.v2.frames import ServerFrame

__all__ = ["schemas"]

Schema: TypeAlias = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@cache  # takes a second; callers do not change the result
def schemas() -> dict[str, Schema]:
    """Returns the schema of every public vocabulary, by name."""
    return {
        "acp": _acp_schema(),
        "blocks": _schema("Content blocks: the parts of an agent's message.", ContentBlock),
        "claude": _claude_schema(),
        "codex": _codex_schema(),
        "deltas": _schema("Message deltas: a message of the model while it streams.", MessageDelta),
        "events": _schema("Normalized events: the events of any agent.", NormalizedStreamEvent),
        "messages": _schema("Messages, and the entries of the log.", Message),
        "rpc": _schema("RPC messages: the messages that an RPC client receives.", RpcMessage),
        "rpc-calls": _rpc_calls_schema(),
        "rpc-frames": _rpc_frames_schema(),
        "ui": _schema("UI events: the events for a front end.", UiStreamEvent),
        "v2": _v2_schema(),
        "v2-client": _v2_client_schema(),
        "view": _schema("The view: the state of a conversation that a client shows.", View),
    }


def _schema(description: str, vocabulary: Any) -> Schema:
    schema = msgspec.json.schema(vocabulary)
    _describe_fields(schema["$defs"], vocabulary)
    return {"$schema": _DRAFT, "description": description, **schema}


def _rpc_frames_schema() -> Schema:
    """Returns the schema of the RPC server's frames, with the results of calls."""
    kinds = get_args(RpcServerFrame)
    answers = [Capabilities, Connected, Accepted, Stopped, History, Sessions]
    refs, defs = msgspec.json.schema_components([*kinds, *answers], ref_template=_REF)
    _describe_fields(defs, *kinds, *answers)
    # The type of a result depends on the method of the call; some results are empty.
    defs["Answer"]["properties"]["result"] = {"anyOf": [*refs[len(kinds) :], {}]}
    said = "RPC: one of these per frame of the server; and the results of calls."
    return {"$schema": _DRAFT, "description": said, "anyOf": [*refs[: len(kinds)]], "$defs": defs}


def _rpc_calls_schema() -> Schema:
    """Returns the schema of an RPC client's frames: calls with their parameters, and replies."""
    kinds = [*METHODS.values(), QuestionReply, PermissionReply]
    refs, defs = msgspec.json.schema_components(kinds, ref_template=_REF)
    _describe_fields(defs, *kinds)
    text = {"type": "string", "minLength": 1}
    calls = [
        {
            "type": "object",
            "properties": {"id": text, "method": {"const": method}, "params": ref},
            "required": ["id", "method"],
        }
        for method, ref in zip(METHODS, refs, strict=False)
    ]
    own = {"type": "string", "pattern": "^srv-"}
    replies = [
        {"type": "object", "properties": {"id": own, name: body}, "required": ["id", name]}
        for name, body in (("result", {"anyOf": [*refs[-2:]]}), ("error", {}))
    ]
    said = "RPC: one of these per frame of a client."
    return {"$schema": _DRAFT, "description": said, "anyOf": [*calls, *replies], "$defs": defs}


def _v2_schema() -> Schema:
    """Returns the schema of the server's frames. It is open: clients ignore unknown frames."""
    schema = _schema("Protocol v2: one of these per frame of the server.", ServerFrame)
    for union in (ServerFrame, Content):
        _open(union, schema["$defs"])
    # The type of a result depends on the control; a later version may add controls.
    results = get_args(ControlResult)
    refs, defs = msgspec.json.schema_components(results, ref_template=_REF)
    _describe_fields(defs, *results)
    schema["$defs"] |= defs
    schema["$defs"]["Accepted"]["properties"]["result"]["anyOf"] = [*refs, {}]
    opened: Schema = _without_discriminators(schema)
    return opened


def _v2_client_schema() -> Schema:
    """Returns the schema of the client's frames. It is closed, and includes the checks of the types."""
    schema = _schema("Protocol v2: one of these per frame of a client.", ClientFrame)
    defs = schema["$defs"]
    defs["SentImage"]["anyOf"] = [_has(name) for name in ("data", "url", "blob")]
    defs["PermissionChoice"]["if"] = {"properties": {"decision": {"const": "deny"}}}
    defs["PermissionChoice"]["then"] = {
        "properties": {"updated_input": {"type": "null"}, "remember": {"maxItems": 0}}
    }
    defs["QueueChange"]["oneOf"] = [
        _only("action", "remove", needs=["queue_id"], rest=["content", "before"]),
        _only("action", "replace", needs=["queue_id", "content"], rest=["before"]),
        _only("action", "move", needs=["queue_id"], rest=["content"]),
        _only("action", "resume", needs=[], rest=["queue_id", "content", "before"]),
    ]
    return schema


def _has(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _only(field: str, value: str, *, needs: list[str], rest: list[str]) -> Schema:
    """Returns a schema for objects with this value: `needs` are required, `rest` must be null."""
    own = {name: {"not": {"type": "null"}} for name in needs}
    others = {name: {"type": "null"} for name in rest}
    return {"required": needs, "properties": {field: {"const": value}, **own, **others}}


# --- descriptions of fields -------------------------------------------------------------------


def _describe_fields(defs: Schema, *vocabularies: Any) -> None:
    """Adds the trailing comment of each field as its description; msgspec has only the docstrings."""
    for struct in _structs(*vocabularies):
        properties = defs[struct.cls.__name__]["properties"]
        comments = _comments(struct.cls)
        for field in struct.fields:
            if field.name in comments:
                properties[field.encode_name]["description"] = comments[field.name]


def _structs(*vocabularies: Any) -> list[StructType]:
    """Returns every struct that the vocabularies contain."""
    found: dict[type, StructType] = {}
    waiting: list[msgspec.inspect.Type] = [*msgspec.inspect.multi_type_info(vocabularies)]
    while waiting:
        match waiting.pop():
            case StructType() as struct if struct.cls not in found:
                found[struct.cls] = struct
                waiting += [field.type for field in struct.fields]
            case UnionType(types=types):
                waiting += types
            case CollectionType(item_type=item):
                waiting.append(item)
            case DictType(value_type=value):
                waiting.append(value)
            case _:
                pass
    return list(found.values())


_CLASS = re.compile(r"class (\w+)")
_FIELD = re.compile(r"    (\w+): [^#]*  # (.+)")
_FOR_THE_LINTER = re.compile(r"noqa: \w+(?: \((.*)\))?")


def _comments(struct: type) -> dict[str, str]:
    """Returns the trailing comments of the fields of a struct and its parents, by field."""
    found: dict[str, str] = {}
    for cls in reversed(struct.__mro__):
        if cls.__module__.startswith("turnwire."):
            found |= _comments_in(cls.__module__).get(cls.__name__, {})
    return found


@cache
def _comments_in(module: str) -> dict[str, dict[str, str]]:
    """Returns the trailing comments of the fields of every class of a module."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in inspect.getsource(import_module(module)).splitlines():
        if opening := _CLASS.match(line):
            fields = found[opening[1]] = {}
        elif field := _FIELD.fullmatch(line):
            name, comment = field.groups()
            aside = _FOR_THE_LINTER.fullmatch(comment)
            said = (aside[1] or "") if aside else comment
            # A remark on the spelling of a name is for developers, not for the schema.
            parts = [part for part in said.split("; ") if not part.endswith("'s spelling")]
            if any(parts):
                fields[name] = "; ".join(parts)
    return found


# --- Claude's own messages --------------------------------------------------------------------


def _claude_schema() -> Schema:
    """Returns the schema of Claude's stream. It is open: unknown kinds are allowed everywhere.

    The types cannot express two rules, so they are added here: system messages have a second tag,
    and an Unknown type stands for every tag that no other type has.
    """
    own = _members(ClaudeMessage) - _members(SystemMessage) - {UnknownMessage}
    in_order = [member for member in get_args(ClaudeMessage) if member in own]
    tagged: Any = Union[tuple(in_order)]  # noqa: UP007 (of a computed list)
    kinds = [tagged, SystemMessage, *get_args(Answer)]  # the request determines an answer's type
    _, defs = msgspec.json.schema_components(kinds, ref_template=_REF)
    _describe_fields(defs, *kinds)
    refs = {
        member: {"$ref": _REF.format(name=member.__name__)} for member in _members(ClaudeMessage)
    }

    for union in (ClaudeBlock, Delta, StreamEventBody, ControlBody, ControlOutcome, SystemMessage):
        _open(union, defs)
    answers = [{"$ref": _REF.format(name=kind.__name__)} for kind in get_args(Answer)]
    defs["ControlSuccess"]["properties"]["response"] = {"anyOf": [*answers, {"type": "null"}]}
    defs["SystemMessage"] = {
        "title": "SystemMessage",
        "description": "A message about the session itself.",
        "type": "object",
        "properties": {"type": {"const": "system"}},
        "required": ["type"],
        "anyOf": [refs[member] for member in get_args(SystemMessage)],
    }
    defs["UnknownMessage"] = _anything_but(UnknownMessage, "type", {"system", *map(_tag, own)})
    return {
        "$schema": _DRAFT,
        "description": "Claude Code's stream-json: one of these per line, in both directions.",
        "anyOf": [
            *(refs[member] for member in in_order),
            {"$ref": _REF.format(name="SystemMessage")},
            refs[UnknownMessage],
        ],
        "$defs": _without_discriminators(defs),
    }


_REF = "#/$defs/{name}"


# --- messages of agents that speak JSON-RPC ---------------------------------------------------


def _acp_schema() -> Schema:
    """Returns the schema of the Agent Client Protocol. It is open: unknown methods are allowed."""
    unknown = UnknownAcpMessage
    kinds = [kind for kind in get_args(AcpMessage) if kind is not unknown]
    _, defs = msgspec.json.schema_components(kinds, ref_template=_REF)
    _describe_fields(defs, *kinds)
    for union in (SessionUpdate, AcpContent, ToolContent):
        _open(union, defs)
    defs["Response"]["properties"]["method"] = False
    defs["Response"]["anyOf"] = [{"required": ["result"]}, {"required": ["error"]}]
    methods = {_tag(kind) for kind in kinds if kind is not Response}
    defs[unknown.__name__] = {
        **_anything_but(unknown, "method", methods),
        "required": ["method"],
    }
    return {
        "$schema": _DRAFT,
        "description": "The Agent Client Protocol: one of these per line, in both directions.",
        "anyOf": [{"$ref": _REF.format(name=kind.__name__)} for kind in (*kinds, unknown)],
        "$defs": _without_discriminators(defs),
    }


def _codex_schema() -> Schema:
    """Returns the schema of the app-server's messages. It is open: unknown methods are allowed."""
    told: dict[str, type[Struct]] = {**NOTIFICATIONS, **NOTICES}
    kinds = list(dict.fromkeys([*told.values(), *REQUESTS.values()]))
    _, defs = msgspec.json.schema_components(kinds, ref_template=_REF)
    _describe_fields(defs, *kinds)
    _open(ThreadItem, defs)
    request_id = {"type": ["string", "integer"]}

    def message(method: str, kind: type[Struct] | None, *, wants_answer: bool) -> Schema:
        params = {} if kind is None else {"$ref": _REF.format(name=kind.__name__)}
        known: Schema = {"method": {"const": method}, "params": params}
        needs = ["method"] if kind is None else ["method", "params"]
        if wants_answer:
            return {"properties": {"id": request_id, **known}, "required": ["id", *needs]}
        return {"properties": known, "required": needs, "not": {"required": ["id"]}}

    methods = sorted({*NOTIFICATIONS, *REQUESTS, *NEWS})
    answers: list[Schema] = [
        {"properties": {"id": request_id, "method": False}, "required": ["id", "result"]},
        {"properties": {"error": {"type": "object"}, "method": False}, "required": ["error"]},
    ]
    other = {"properties": {"method": {"type": "string", "not": {"enum": methods}}}}
    return {
        "$schema": _DRAFT,
        "description": "The messages of Codex's app-server: one of these per line of it.",
        "type": "object",
        "anyOf": [
            *(message(method, kind, wants_answer=False) for method, kind in told.items()),
            *(message(method, None, wants_answer=False) for method in NEWS if method not in told),
            *(message(method, kind, wants_answer=True) for method, kind in REQUESTS.items()),
            *answers,
            {**other, "required": ["method"]},
        ],
        "$defs": _without_discriminators(defs),
    }


def _open(union: Any, defs: Schema) -> None:
    """Defines the union's Unknown type: an object with any other tag."""
    members = _members(union)
    (unknown,) = (member for member in members if issubclass(member, Unknown))
    known = members - {unknown}
    tag_field = unknown.__struct_config__.tag_field
    assert tag_field is not None
    defs[unknown.__name__] = _anything_but(unknown, tag_field, set(map(_tag, known)))


def _anything_but(unknown: type[Struct], tag_field: str, known: set[str]) -> Schema:
    return {
        "title": unknown.__name__,
        "description": unknown.__doc__,
        "type": "object",
        "properties": {tag_field: {"not": {"enum": sorted(known)}}},
    }


def _without_discriminators(schema: Any) -> Any:
    """Returns a schema without discriminators: an open union has no complete table of tags."""
    if isinstance(schema, dict):
        return {
            key: _without_discriminators(value)
            for key, value in schema.items()
            if key != "discriminator"
        }
    if isinstance(schema, list):
        return [_without_discriminators(item) for item in schema]
    return schema


def _members(union: Any) -> set[type[Struct]]:
    return set(get_args(union))


def _tag(member: type[Struct]) -> str:
    return str(member.__struct_config__.tag)
