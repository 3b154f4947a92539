"""The core, the engine and the front-end protocols use no words of Claude.

The words are taken from the types of the Claude dialect: the names of its messages and their fields,
as far as they are made of several words, and its tools. A name of one word, as `status`, is common:
it counts where it is compared with the subtype of a notice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import Struct

import turnwire
from turnwire.dialects.claude import (
    answers,
    blocks,
    control,
    history,
    messages,
    plan,
    questions,
    stream,
    system,
)

HOUSE = Path(turnwire.__file__).parent
ROOMS = ("core", "engine", "dialects/v2", "dialects/rpc")
FILES = sorted(file for room in ROOMS for file in (HOUSE / room).rglob("*.py"))

# The normalized language, its controls and protocol v2 have these words themselves. Each is a
# documented field or tag of theirs that says the same for every agent.
OURS = {
    *("session_id", "message_id", "agent_id", "request_id", "task_id"),
    *("tool_name", "tool_use", "tool_result", "tool_use_id", "parent_tool_use_id"),
    *("is_error", "error_code", "exit_code", "stop_reason", "terminal_reason", "structured_output"),
    *("duration_ms", "duration_api_ms", "num_turns", "total_cost_usd", "total_tokens"),
    *("blocked_path", "max_thinking_tokens", "text_delta", "partial_json"),
    *("mcp_status", "mcp_toggle", "mcp_reconnect", "stop_task", "dry_run"),
    *("original_type", "originalType"),
    "session_state",  # the UI event of `session.state`
    "media_type",  # of a picture, as the APIs of models and browsers say it
}

# RPC is a wire format that mirrors another SDK: these are the words on that wire.
ON_THE_WIRE_OF_RPC = {
    *("message_start", "message_delta", "message_stop", "stream_event"),
    *("content_block", "content_block_start", "content_block_delta", "content_block_stop"),
    *("input_json_delta", "thinking_delta", "isReplay", "isSynthetic", "toolName", "tool_progress"),
}

ELSEWHERE = {
    # The profile `classic` is the wire format of front ends that were made for one agent.
    "dialects/rpc/classic/frames.py": {"AskUserQuestion", "permission_suggestions"},
    "dialects/rpc/classic/requests.py": {"AskUserQuestion"},
    "dialects/rpc/classic/projector.py": {"compact_boundary", "compact_metadata"},
    "dialects/rpc/messages.py": {"compact_boundary", "compact_metadata"},
    # The log says so that background work ended with its agent, and front ends know it by this name.
    "core/conversation/turns.py": {"task_notification"},
    # All agents offer their rules in this form.
    "core/conversation/rules.py": {"toolName"},
    # Calls in older logs do not say that they are questions: there the tool's name does.
    "core/question_names.py": {"AskUserQuestion"},
}

SUBTYPES_OF_OURS = {
    "init"
}  # so `session.system_event` calls a SessionInit, whichever agent says it


def structs_of(*modules: ModuleType) -> Iterator[type[Struct]]:
    for module in modules:
        for each in vars(module).values():
            is_type = isinstance(each, type) and issubclass(each, Struct)
            if is_type and each.__module__ == module.__name__:
                yield each


def names_in(*modules: ModuleType) -> Iterator[str]:
    """The strings in these modules that look like names of tools."""
    for module in modules:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"^(?:[A-Z][a-z]+){2,}$", node.value)


TYPES = [*structs_of(answers, blocks, control, history, messages, stream, system)]
TAGS = {str(kind.__struct_config__.tag) for kind in TYPES if not kind.__name__.startswith("_")}
FIELDS = {name for kind in TYPES for name in kind.__struct_encode_fields__}
WORDS = {word for word in TAGS | FIELDS if re.search(r"[a-z]_[a-z]|[a-z][A-Z]", word)}
TOOLS = {*names_in(plan, questions)}


def words_in(source: str) -> set[str]:
    """Returns every name and every string in a program, except names of types."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(word)) | ast.Attribute(attr=word) | ast.Name(id=word):
                found.add(word)
            case ast.arg(arg=word) | ast.keyword(arg=str(word)):
                found.add(word)
            case ast.MatchClass(kwd_attrs=words):
                found |= {*words}
            case _:
                pass
    return found


def subtypes_in(source: str) -> set[str]:
    """Returns every string that a program compares with the subtype of a notice."""
    compared: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=ast.Attribute(attr="subtype"), comparators=others):
                compared += others
            case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns):
                pairs = zip(names, patterns, strict=True)
                compared += [pattern for name, pattern in pairs if name == "subtype"]
            case _:
                pass
    return {
        each.value
        for node in compared
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def claudes_words(source: str, place: str) -> set[str]:
    """The words of a program that are Claude's alone."""
    allowed = OURS | ELSEWHERE.get(place, set())
    if place.startswith("dialects/rpc/"):
        allowed |= ON_THE_WIRE_OF_RPC
    compared = subtypes_in(source) & TAGS - SUBTYPES_OF_OURS
    return (words_in(source) & (WORDS | TOOLS) - allowed) | compared


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(HOUSE)))
def test_no_word_of_claudes_is_used(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert claudes_words(source, file.relative_to(HOUSE).as_posix()) == set()


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("class Mode(Struct):\n    permissionMode: str", "permissionMode"),
        ("if event.subtype == 'background_tasks_changed': pass", "background_tasks_changed"),
        ("match event:\n    case SystemEvent(subtype='status'): pass", "status"),
        ("is_over = event.subtype in ('end', 'mine')", "end"),
        ("told = data['is_backgrounded']", "is_backgrounded"),
        ("def hear(session_state_changed): pass", "session_state_changed"),
        ("told(hook_event='Stop')", "hook_event"),
        ("match line:\n    case Line(api_message_id=name): pass", "api_message_id"),
        ("asks = tool_name == 'AskUserQuestion'", "AskUserQuestion"),
        ("if call.tool_name == 'TodoWrite': pass", "TodoWrite"),
    ],
)
def test_a_word_of_claudes_is_found_in_any_use(source: str, word: str) -> None:
    for room in ROOMS:
        assert claudes_words(source, f"{room}/new.py") == {word}


def test_every_exception_is_needed() -> None:
    texts = {file.relative_to(HOUSE).as_posix(): file.read_text(encoding="utf-8") for file in FILES}
    used = {place: words_in(text) for place, text in texts.items()}
    everywhere = set().union(*used.values())
    assert everywhere & WORDS >= OURS
    of_rpc = set().union(*(each for place, each in used.items() if "/rpc/" in place))
    assert of_rpc & WORDS >= ON_THE_WIRE_OF_RPC
    for place, words in ELSEWHERE.items():
        assert words <= used[place] & (WORDS | TOOLS)
    assert set().union(*map(subtypes_in, texts.values())) & TAGS >= SUBTYPES_OF_OURS
