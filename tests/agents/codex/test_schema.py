"""The installed Codex knows no message, item or decision that the dialect does not know."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.agents.codex.helpers.real_codex import IS_INSTALLED
from turnwire.agents.codex.installation import find_codex
from turnwire.dialects.codex import CodexStreamAdapter, decode, items, messages
from turnwire.dialects.codex.requests import Request, answer_of, asks, cancelled

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")

# Notifications that are passed on as they came: of requests that Turnwire does not send, of voices, of
# Codex's own front ends, and of Windows.
PASSED_ON = (
    *("app/", "command/exec/", "externalAgentConfig/", "fs/", "fuzzyFileSearch/"),
    *("mcpServer/event/", "process/", "project/", "remoteControl/", "thread/realtime/", "windows"),
)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the schema that the program writes about itself."""
    folder = tmp_path_factory.mktemp("schema")
    command = [str(find_codex()), "app-server", "generate-json-schema", "--experimental"]
    subprocess.run([*command, "--out", str(folder)], check=True, capture_output=True)
    return folder


Schema = dict[str, Any]


def methods_of(schema: Path, name: str) -> dict[str, Schema]:
    """Returns the schema of each message of a kind, by its method."""
    whole = json.loads((schema / name).read_text())
    return {
        kind["properties"]["method"]["enum"][0]: {
            "definitions": whole["definitions"],
            **kind["properties"].get("params", {}),
        }
        for kind in whole["oneOf"]
    }


class Samples:
    """Makes values of a schema: one with all fields for each alternative, and one with few."""

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def of(self, given: Any, depth: int = 0) -> list[Any]:
        """Returns values that the schema allows, the first one with everything."""
        if not isinstance(given, dict) or depth > 24:
            return [{"any": 1}] if given is True else [None]
        if "$ref" in given:
            return self.of(self._definitions[given["$ref"].rpartition("/")[2]], depth + 1)
        if "enum" in given:
            return [given["enum"][0]]
        for name in ("allOf", "anyOf", "oneOf"):
            if name in given:
                rest = {
                    key: value for key, value in given.items() if key not in (name, "definitions")
                }
                found = [value for each in given[name] for value in self.of(each, depth + 1)]
                return self._with(rest, found, depth) if "properties" in rest else found
        kinds = given.get("type", "object" if "properties" in given else None)
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return [value for kind in kinds for value in self._of_kind(kind, given, depth)]

    def _of_kind(self, kind: str | None, given: Schema, depth: int) -> list[Any]:
        match kind:
            case "object":
                return self._objects(given, depth)
            case "array":
                values = self.of(given.get("items", True), depth + 1)
                return [values if depth < 6 else values[:1], []]
            case "string":
                return ["words"]
            case "boolean":
                return [True]
            case "integer":
                return [7]
            case "number":
                return [1.5]
            case "null":
                return [None]
            case _:
                return [{"any": 1}]

    def _objects(self, given: Schema, depth: int) -> list[Any]:
        fields = {
            name: self.of(each, depth + 1) for name, each in given.get("properties", {}).items()
        }
        whole = {name: values[0] for name, values in fields.items()}
        few = {name: whole[name] for name in given.get("required", [])}
        others = [{**whole, name: value} for name, values in fields.items() for value in values[1:]]
        return [whole, few, *others]

    def _with(self, given: Schema, values: list[Any], depth: int) -> list[Any]:
        (whole, *_) = self._objects(given, depth)
        return [{**whole, **value} if isinstance(value, dict) else value for value in values]


def check(line: dict[str, Any], fields: Any) -> None:
    """Checks that the dialect reads a message, and that no field of it is lost."""
    found = decode(msgspec.json.encode(line))
    assert found.unknown == (), line
    message = found.message
    read = message.params if isinstance(message, messages.Asked) else message
    if isinstance(message, messages.News):
        read = message.told
    assert isinstance(read, fields)
    lost = list(missing(line["params"], read))
    assert lost == [], (line["method"], lost)


def missing(sent: Any, read: Any, where: str = "") -> Iterator[str]:
    """Yields the fields that a message had and its type has not, at any depth."""
    if isinstance(sent, dict) and isinstance(read, msgspec.Struct):
        names = dict(zip(read.__struct_encode_fields__, read.__struct_fields__, strict=True))
        tag = read.__struct_config__.tag_field
        for name, value in sent.items():
            if name == tag:
                continue
            if name not in names:
                yield f"{where}.{name}"
                continue
            yield from missing(value, getattr(read, names[name]), f"{where}.{name}")
    elif isinstance(sent, list) and isinstance(read, list):
        for one, other in zip(sent, read, strict=True):
            yield from missing(one, other, f"{where}[]")
    elif sent is not None and sent != read and not isinstance(sent, dict):
        yield f"{where}: {sent!r} became {read!r}"


def test_every_notification_is_typed_or_passed_on(schema: Path) -> None:
    known = messages.NOTIFICATIONS.keys() | messages.NEWS.keys()
    assert methods_of(schema, "ServerNotification.json").keys() == known
    assert messages.NOTICES.keys() <= messages.NEWS.keys()
    raw = messages.NEWS.keys() - messages.NOTICES.keys()
    assert {method for method in raw if not method.startswith(PASSED_ON)} == set()


def test_every_field_of_a_notification_is_kept(schema: Path) -> None:
    told = methods_of(schema, "ServerNotification.json")
    for method, fields in {**messages.NOTIFICATIONS, **messages.NOTICES}.items():
        for params in Samples(told[method]["definitions"]).of(told[method]):
            check({"method": method, "params": params}, fields)


def test_every_field_of_a_request_is_kept(schema: Path) -> None:
    asked = methods_of(schema, "ServerRequest.json")
    assert asked.keys() == messages.REQUESTS.keys()
    for method, fields in messages.REQUESTS.items():
        for params in Samples(asked[method]["definitions"]).of(asked[method]):
            check({"id": 1, "method": method, "params": params}, fields)


def test_every_field_of_an_item_is_kept(schema: Path) -> None:
    told = json.loads((schema / "ServerNotification.json").read_text())
    samples = Samples(told["definitions"])
    tags = set()
    for kind in told["definitions"]["ThreadItem"]["oneOf"]:
        for item in samples.of(kind):
            tags.add(item["type"])
            params = {"threadId": "t", "turnId": "u", "completedAtMs": 1, "item": item}
            check({"method": "item/completed", "params": params}, messages.ItemCompleted)
    assert tags == known_items()


def known_items() -> set[str]:
    """Returns the tags of the items that the dialect has types for."""
    structs: list[Any] = [getattr(items, name) for name in items.__all__]
    configs = [getattr(each, "__struct_config__", None) for each in structs]
    return {str(config.tag) for config in configs if config is not None and config.tag} - {
        "unknown"
    }


def open_request(method: str, **params: Any) -> Request:
    """Returns a request of Codex as it waits for a person."""
    whole = {"threadId": "t", "turnId": "u", "itemId": "c", **params}
    adapter = CodexStreamAdapter()
    adapter.feed(decode(msgspec.json.encode({"id": 1, "method": method, "params": whole})))
    (request,) = adapter.open_requests()
    return request


def given_to(request: Request, rules: list[Any]) -> list[Any]:
    """Returns all that Codex can get for a request: with each rule, without, denied and stopped."""
    allowed = [answer_of(request, "allow", None, [rule]) for rule in rules]
    plain = answer_of(request, "allow", None, [])
    return [plain, *allowed, answer_of(request, "deny", None, []), cancelled(request)]


def test_every_decision_of_a_person_about_a_command_can_be_given(schema: Path) -> None:
    request = open_request(
        "item/commandExecution/requestApproval",
        command="git push",
        proposedExecpolicyAmendment=["git", "push"],
        proposedNetworkPolicyAmendments=[{"host": "a.example", "action": "allow"}],
    )
    what = asks(request.asked, None)
    assert what is not None
    given = given_to(request, what.suggestions)
    assert names_of(each["decision"] for each in given) == decisions_in(
        schema, "CommandExecutionRequestApprovalResponse", "CommandExecutionApprovalDecision"
    )
    for each in given:
        assert_valid(schema, "CommandExecutionRequestApprovalResponse", each)


def test_every_decision_of_a_person_about_a_file_can_be_given(schema: Path) -> None:
    request = open_request("item/fileChange/requestApproval")
    what = asks(request.asked, None)
    assert what is not None
    given = given_to(request, what.suggestions)
    assert names_of(each["decision"] for each in given) == decisions_in(
        schema, "FileChangeRequestApprovalResponse", "FileChangeApprovalDecision"
    )
    for each in given:
        assert_valid(schema, "FileChangeRequestApprovalResponse", each)


def test_every_action_of_a_person_about_an_mcp_server_can_be_given(schema: Path) -> None:
    meta = {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"]}
    fields = {"serverName": "demo", "mode": "form", "message": "Run it?", "_meta": meta}
    request = open_request("mcpServer/elicitation/request", **fields)
    what = asks(request.asked, None)
    assert what is not None
    given = given_to(request, what.suggestions)
    answers = "McpServerElicitationRequestResponse"
    actions = json.loads((schema / f"{answers}.json").read_text())["definitions"]
    assert {each["action"] for each in given} == set(actions["McpServerElicitationAction"]["enum"])
    for each in given:
        assert_valid(schema, answers, each)


def test_other_answers_have_the_form_that_codex_takes(schema: Path) -> None:
    permissions = open_request("item/permissions/requestApproval", permissions={"network": None})
    for each in given_to(permissions, [{}])[:-1]:
        assert_valid(schema, "PermissionsRequestApprovalResponse", each)
    tool = open_request("item/tool/call", callId="c", tool="paint")
    assert_valid(schema, "DynamicToolCallResponse", answer_of(tool, None, "Blue.", []))
    asked = [{"id": "q", "header": "", "question": "Which?"}]
    question = open_request("item/tool/requestUserInput", questions=asked)
    assert_valid(schema, "ToolRequestUserInputResponse", answer_of(question, None, "Blue", []))


def names_of(decisions: Iterable[Any]) -> set[str]:
    return {each if isinstance(each, str) else next(iter(each)) for each in decisions}


def decisions_in(schema: Path, name: str, union: str) -> set[str]:
    kinds = json.loads((schema / f"{name}.json").read_text())["definitions"][union]["oneOf"]
    words = {word for kind in kinds for word in kind.get("enum", [])}
    return words | {name for kind in kinds for name in kind.get("required", [])}


def assert_valid(schema: Path, name: str, answer: Any) -> None:
    """Checks an answer by the schema of Codex."""
    whole = json.loads((schema / f"{name}.json").read_text())
    jsonschema.Draft7Validator(whole).validate(answer)
