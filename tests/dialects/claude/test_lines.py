"""Reading Claude's lines: known ones are typed, all others are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from tests.helpers.recorded_streams import BOTH_DIRECTIONS, RECORDED
from turnwire.core.blocks import UnknownBlock
from turnwire.dialects import claude
from turnwire.dialects.claude import Line, blocks, control, messages, stream, system
from turnwire.errors import BadLine

GOOD = b'{"type":"keep_alive"}'


def read(frame: Any) -> Line:
    return claude.decode(frame if isinstance(frame, bytes) else json.dumps(frame).encode())


def message(frame: Any) -> Any:
    return read(frame).message


def bad(raw: bytes) -> BadLine:
    with pytest.raises(BadLine) as caught:
        claude.decode(raw, 7)
    assert caught.value.line == 7
    assert caught.value.raw == raw
    assert "line 7" in caught.value.message
    return caught.value


# --- writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "system", "subtype": "session_writes_lost"},
        {"type": "system", "subtype": "brand_new", "beams": 3},
        {"type": "result", "subtype": "success"},
        {"type": "hologram", "beams": 3},
        {"type": "user", "message": {"role": "user", "content": "hi"}},
    ],
)
def test_a_line_that_was_read_is_written_with_its_type(frame: dict[str, Any]) -> None:
    line = read(frame)
    assert json.loads(claude.encode(line.message)) == frame
    assert claude.encode(line) == line.raw


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_line_is_written_with_its_type(path: Path) -> None:
    for line in claude.read(path.read_bytes().splitlines()):
        if isinstance(line, Line):
            kept, written = json.loads(line.raw), json.loads(claude.encode(line.message))
            assert (written["type"], written.get("subtype")) == (kept["type"], kept.get("subtype"))


# --- recorded traffic ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_line_is_typed_and_kept(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    for number, (raw, line) in enumerate(zip(lines, claude.read(lines), strict=True), 1):
        assert isinstance(line, Line)
        assert line.unknown == ()
        assert (line.raw, line.number) == (raw, number)


@pytest.mark.parametrize("path", BOTH_DIRECTIONS, ids=lambda path: path.stem)
def test_lines_of_a_host_are_typed_and_can_be_written_again(path: Path) -> None:
    for raw in path.read_bytes().splitlines():
        recorded = json.loads(raw)
        if recorded["dir"] == "in":
            line = read(recorded["msg"])
            assert line.unknown == ()
            written = json.loads(claude.encode(line.message))
            assert _without_nulls(written) == _without_nulls(recorded["msg"])


def _without_nulls(value: Any) -> Any:
    """Removes null fields: a null field and a missing one mean the same to the CLI."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


# --- every kind, by its name on the wire --------------------------------------------------------


def tagged(union: Any) -> list[tuple[str, type[msgspec.Struct]]]:
    return [
        (kind.__struct_config__.tag, kind)
        for kind in get_args(union)
        if isinstance(kind.__struct_config__.tag, str) and kind.__struct_config__.tag != "unknown"
    ]


def required(kind: type[msgspec.Struct]) -> dict[str, Any]:
    samples = {"str": "x", "int": 0, "bool": True, "ImageSource": {}}
    return {
        field.encode_name: samples[getattr(field.type, "__name__", "")]
        for field in msgspec.structs.fields(kind)
        if field.required
    }


@pytest.mark.parametrize(("tag", "kind"), tagged(system.SystemMessage))
def test_every_known_system_subtype_has_a_type(tag: str, kind: type) -> None:
    assert type(message({"type": "system", "subtype": tag})) is kind
    # The order of the keys is the agent's affair.
    assert type(message({"subtype": tag, "type": "system"})) is kind


@pytest.mark.parametrize(("tag", "kind"), tagged(control.ControlBody))
def test_every_known_control_request_has_a_type(tag: str, kind: Any) -> None:
    request = {"subtype": tag, **required(kind)}
    frame = message({"type": "control_request", "request_id": "r", "request": request})
    assert type(frame.request) is kind
    assert json.loads(claude.encode(frame))["request"] == request


@pytest.mark.parametrize(("tag", "kind"), tagged(blocks.ClaudeBlock))
def test_every_known_block_has_a_type(tag: str, kind: Any) -> None:
    frame = {"type": "assistant", "message": {"content": [{"type": tag, **required(kind)}]}}
    (block,) = message(frame).message.content
    assert type(block) is kind


@pytest.mark.parametrize(
    ("tag", "kind"),
    [(tag, kind) for tag, kind in tagged(stream.Delta)],
)
def test_every_known_delta_has_a_type(tag: str, kind: type) -> None:
    event = {"type": "content_block_delta", "index": 3, "delta": {"type": tag}}
    frame = message({"type": "stream_event", "event": event})
    assert (frame.event.index, type(frame.event.delta)) == (3, kind)


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "message_start"}, stream.MessageStart),
        (
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            stream.ContentBlockStart,
        ),
        (
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}},
            stream.ContentBlockDelta,
        ),
        ({"type": "content_block_stop", "index": 0}, stream.ContentBlockStop),
        ({"type": "message_delta"}, stream.MessageDelta),
        ({"type": "message_stop"}, stream.MessageStop),
        ({"type": "ping"}, stream.Ping),
        ({"type": "error", "error": {}}, stream.StreamError),
    ],
)
def test_every_stream_event_has_a_type(event: dict[str, Any], kind: type) -> None:
    assert type(message({"type": "stream_event", "event": event}).event) is kind


@pytest.mark.parametrize(
    "name",
    [
        "user",
        "assistant",
        "result",
        "rate_limit_event",
        "conversation_reset",
        "error",
        "keep_alive",
        "command_lifecycle",
        "tool_use_summary",
        "prompt_suggestion",
        "attachment",
        "auth_status",
        "transcript_mirror",
    ],
)
def test_a_message_may_lack_every_field_but_its_type(name: str) -> None:
    line = read({"type": name})
    assert type(line.message).__struct_config__.tag == name
    assert line.unknown == ()


def test_a_permission_decision_is_written_as_the_cli_wants_it() -> None:
    rule = control.PermissionRule("Bash", "ls")
    update = control.PermissionUpdate("addRules", [rule], "allow", destination="session")
    allow = control.PermissionAllow({"command": "ls"}, [update])
    deny = control.PermissionDeny("no", interrupt=True)
    assert json.loads(claude.encode(allow)) == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
        "updatedPermissions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "ls"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
    }
    assert json.loads(claude.encode(deny)) == {
        "behavior": "deny",
        "message": "no",
        "interrupt": True,
    }
    both: Any = control.PermissionResult
    assert msgspec.json.decode(claude.encode(allow), type=both) == allow
    assert msgspec.json.decode(claude.encode(deny), type=both) == deny


# --- nothing unknown is fatal, nothing unknown is lost ------------------------------------------


def test_an_unknown_type_is_kept_whole() -> None:
    raw = b'{"type":"telepathy","thought":"\\u00e9", "n": 1}'
    line = read(raw)
    assert line.unknown == ("telepathy",)
    assert line.message == messages.UnknownMessage("telepathy", msgspec.Raw(raw))


@pytest.mark.parametrize("raw", [b"{}", b'{"type":7}', b'{"type":null}', b'{"type":["user"]}'])
def test_a_message_without_a_type_is_kept_too(raw: bytes) -> None:
    line = read(raw)
    assert line.unknown == ("(no type)",)
    assert line.message == messages.UnknownMessage("", msgspec.Raw(raw))


@pytest.mark.parametrize("subtype", ["brand_new", None, 7])
def test_an_unknown_system_subtype_is_kept(subtype: Any) -> None:
    frame = {"type": "system", "subtype": subtype, "n": 1}
    line = read(frame)
    assert isinstance(line.message, system.UnknownSystemMessage)
    assert line.message.data == frame
    assert line.unknown == (f"system/{subtype if isinstance(subtype, str) else '(no type)'}",)


def test_an_unknown_block_is_kept_among_known_ones() -> None:
    strange = {"type": "hologram", "depth": 3}
    line = read({"type": "user", "message": {"content": [{"type": "text", "text": "a"}, strange]}})
    assert line.unknown == ("content/hologram",)
    assert isinstance(line.message, messages.UserMessage)
    assert line.message.message is not None
    assert line.message.message.content == [
        blocks.TextBlock("a"),
        UnknownBlock("hologram", strange),
    ]


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (
            [{"type": "text", "text": "Hi"}, "bare"],
            [blocks.TextBlock("Hi"), UnknownBlock("", "bare")],
        ),
        ([None], [UnknownBlock("", None)]),
        ({"type": "text", "text": "Hi"}, [blocks.TextBlock("Hi")]),
        ([{"type": "text", "text": 5}], [UnknownBlock("text", {"type": "text", "text": 5})]),
    ],
)
def test_odd_content_does_not_affect_other_content(content: Any, kept: Any) -> None:
    line = read({"type": "user", "message": {"content": content}})
    assert isinstance(line.message, messages.UserMessage)
    assert line.message.message is not None
    assert line.message.message.content == kept


def test_a_delta_that_does_not_fit_is_kept_whole() -> None:
    odd = {"type": "text_delta", "text": 5}
    event = {"type": "content_block_delta", "index": 0, "delta": odd}
    assert message({"type": "stream_event", "event": event}).event.delta == stream.UnknownDelta(
        "text_delta", odd
    )


def test_a_message_with_unreadable_content_is_kept_as_unknown() -> None:
    line = read({"type": "user", "message": "just text"})
    assert isinstance(line.message, messages.UnknownMessage)
    assert (line.message.original_type, line.unknown) == ("user", ("user",))


def test_a_known_block_without_its_required_fields_is_kept_as_unknown() -> None:
    broken = {"type": "tool_use", "input": {}}
    (block,) = message({"type": "assistant", "message": {"content": [broken]}}).message.content
    assert block == UnknownBlock("tool_use", broken)


def test_a_foreign_block_called_unknown_keeps_its_content() -> None:
    foreign = {"type": "unknown", "secret": 7}
    (block,) = message({"type": "assistant", "message": {"content": [foreign]}}).message.content
    assert block == UnknownBlock("unknown", foreign)


def test_unknown_events_deltas_and_requests_are_kept() -> None:
    line = read({"type": "stream_event", "event": {"type": "new", "x": 1}})
    assert isinstance(line.message, messages.StreamEvent)
    assert line.message.event == stream.UnknownStreamEvent("new", {"type": "new", "x": 1})
    assert line.unknown == ("event/new",)
    asked = read({"type": "control_request", "request_id": "r", "request": {"subtype": "new"}})
    assert isinstance(asked.message, control.ControlRequest)
    assert asked.message.request == control.UnknownControlRequest("new", {"subtype": "new"})
    assert asked.unknown == ("request/new",)


def test_a_field_of_the_wrong_type_costs_only_that_field() -> None:
    frame = {"type": "assistant", "uuid": 5, "message": {"id": "m", "content": [], "model": 1}}
    line = read(frame)
    assert isinstance(line.message, messages.AssistantMessage)
    assert line.message.message == stream.ApiMessage("m", content=[])
    assert line.message.uuid is None
    assert sorted(line.unknown) == ["assistant.uuid", "message.model"]
    assert json.loads(line.raw) == frame


def test_a_message_that_lacks_its_heart_is_kept_with_the_reason() -> None:
    line = read({"type": "stream_event", "uuid": "u"})
    assert isinstance(line.message, messages.UnknownMessage)
    assert line.message.original_type == "stream_event"
    assert line.message.reason is not None
    assert "event" in line.message.reason


def test_unknown_fields_stay_in_the_raw_line() -> None:
    raw = b'{"type":"result","brand_new_figure":{"a":[1,2]}}'
    assert read(raw).raw == raw


# --- bad lines ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"not json", "invalid_json"),
        (b'{"type":"user"} {"type":"user"}', "invalid_json"),
        (b'{"type":"user","x":NaN}', "invalid_json"),
        (b'{"type":"user","x":"\x00"}', "invalid_json"),
        (b"\x00\x00\x00", "invalid_json"),
        (b'1e999{"type":"user"}', "invalid_json"),
        (b'{"type":"us', "truncated"),
        (b'{"type":"user","message":{"content":[', "truncated"),
        (b'{"type":"user","x":"\xff\xfe"}', "invalid_utf8"),
        (b'{"type":"assistant","message":{"content":"\xc3"}}', "invalid_utf8"),
        (b'{"type":"system","subtype":"init","new":"\xff"}', "invalid_utf8"),
        (b'["type","user"]', "not_an_object"),
        (b'"user"', "not_an_object"),
        (b"7", "not_an_object"),
        (b"null", "not_an_object"),
        (b'{"type":"user","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
        (b'{"x":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_that_is_no_json_object_is_a_bad_line_with_its_number(
    raw: bytes, reason: str
) -> None:
    error = bad(raw)
    assert (error.reason, error.code) == (reason, "INVALID_FORMAT")
    assert error.data == {"reason": reason, "line": 7}


def test_a_bad_line_does_not_end_the_stream() -> None:
    lines = [GOOD, b"oops", b"", b"  \r\n", GOOD + b"\r\n", b"[]", GOOD]
    found = list(claude.read(lines))
    assert [type(each).__name__ for each in found] == ["Line", "BadLine", "Line", "BadLine", "Line"]
    numbers = [each.line if isinstance(each, BadLine) else each.number for each in found]
    assert numbers == [1, 2, 5, 6, 7]


# --- odd, but JSON ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"half \ud83d", "half \ufffd"),
        (r"half \uDE00 of it", "half \ufffd of it"),
        (r"\ud83d\ude00 \ud83d", "😀 \ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
        (r"\ud83dx", "\ufffdx"),
        (r"\\ud83d \ud83d", "\\ud83d \ufffd"),
    ],
)
def test_half_a_character_is_shown_as_such(written: str, shown: str) -> None:
    """JavaScript cuts text between the halves of a surrogate pair."""
    raw = b'{"type":"assistant","message":{"content":"' + written.encode() + b'"}}'
    line = read(raw)
    assert isinstance(line.message, messages.AssistantMessage)
    assert line.message.message is not None
    assert line.message.message.content == shown
    assert line.unknown == ("lone surrogate",)
    line.raw.decode()
    json.loads(line.raw)["message"]["content"].encode()


def test_a_nul_written_as_an_escape_is_a_character() -> None:
    assert message(b'{"type":"user","message":{"content":"a\\u0000b"}}').message.content == "a\0b"


def test_numbers_beyond_64_bits_are_kept() -> None:
    big = 10**40
    raw = (
        b'{"type":"assistant","message":{"content":[%b]}}'
        % json.dumps({"type": "tool_use", "id": "t", "name": "n", "input": {"n": big}}).encode()
    )
    (block,) = message(raw).message.content
    assert block.input == {"n": big}
    assert message({"type": "result", "duration_ms": big}).duration_ms == big


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"type":"result","structured_output":1e999}', "result"),
        (b'{"type":1e999}', ""),
    ],
)
def test_a_number_that_no_float_holds_leaves_the_message_unread_but_kept(
    raw: bytes, kind: str
) -> None:
    line = read(raw)
    assert isinstance(line.message, messages.UnknownMessage)
    assert (line.message.original_type, bytes(line.message.data)) == (kind, raw)
    assert line.message.reason is not None


def test_the_last_of_duplicate_keys_counts() -> None:
    assert message(b'{"type":"user","uuid":"a","uuid":"b"}').uuid == "b"
    assert isinstance(message(b'{"type":"user","type":"keep_alive"}'), messages.KeepAlive)


def test_a_line_of_twenty_megabytes_is_a_line() -> None:
    words = "x" * 20_000_000
    frame = message(
        {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
    )
    assert frame.message.content[0].text == words
