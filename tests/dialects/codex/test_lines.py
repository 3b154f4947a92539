"""Lines of an app-server: typed where they are known, kept where they are not."""

from __future__ import annotations

import msgspec
import pytest

from turnwire.dialects.codex import decode
from turnwire.dialects.codex import messages as m
from turnwire.dialects.codex.failures import code_of, message_of
from turnwire.dialects.codex.items import CommandExecution, UnknownItem
from turnwire.dialects.codex.modes import MODES, mode_of
from turnwire.dialects.codex.notices import DiffUpdated
from turnwire.dialects.codex.translate import content_of
from turnwire.errors import BadLine


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[1]", "not_an_object"),
        (b'{"method":', "truncated"),
        (b"{oops}", "invalid_json"),
        (b'{"method":"\xff"}', "invalid_utf8"),
        (b"[" * 5000 + b"]" * 5000, "too_deep"),
        (b'{"method":"turn/started","params":' + b"[" * 5000 + b"]" * 5000 + b"}", "too_deep"),
    ],
)
def test_a_line_that_is_no_object_is_bad(raw: bytes, reason: str) -> None:
    with pytest.raises(BadLine) as bad:
        decode(raw, 3)
    assert (bad.value.reason, bad.value.line) == (reason, 3)


@pytest.mark.parametrize(
    ("raw", "unknown"),
    [
        (b"{}", ("(no method)",)),
        (b'{"method":3}', ("(form)",)),
        (b'{"method":"new/thing"}', ("new/thing",)),
        (b'{"id":1,"method":"new/request"}', ("new/request",)),
        (b'{"method":"turn/started","params":{"turn":3}}', ("turn/started",)),
        (b'{"method":"turn/started","params":[1]}', ("turn/started",)),
        (b'{"method":"item/agentMessage/delta","params":{}}', ("item/agentMessage/delta",)),
    ],
)
def test_an_unknown_line_is_reported_and_kept(raw: bytes, unknown: tuple[str, ...]) -> None:
    line = decode(raw)
    assert line.unknown == unknown
    assert line.raw == raw
    assert isinstance(line.message, m.UnknownMessage)


def test_a_field_of_another_type_does_not_hide_the_rest() -> None:
    raw = (
        b'{"method":"item/started","params":{"threadId":"t","turnId":"u","item":'
        b'{"type":"commandExecution","id":"c","command":"ls","exitCode":"zero"}}}'
    )
    line = decode(raw)
    assert line.unknown == ("commandExecution.exitCode",)
    assert isinstance(line.message, m.ItemStarted)
    assert line.message.item == CommandExecution(id="c", command="ls")


def test_an_unknown_item_has_its_id_if_it_has_one() -> None:
    assert UnknownItem("x", {"id": "a"}).id == "a"
    assert UnknownItem("x", {"id": 1}).id == ""
    assert UnknownItem("x", 3).id == ""


def test_text_beyond_ascii_is_kept() -> None:
    raw = '{"method":"turn/diff/updated","params":{"threadId":"t","diff":"ä"}}'.encode()
    told = DiffUpdated(thread_id="t", diff="ä")
    assert decode(raw).message == m.News("turn/diff/updated", "t", told)


@pytest.mark.parametrize(
    ("info", "code"),
    [
        (None, "codex_error"),
        ({}, "codex_error"),
        ("usageLimitExceeded", "usage_limit_exceeded"),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "unauthorized"),
        ({"responseStreamDisconnected": {"httpStatusCode": 500}}, "response_stream_disconnected"),
        ({"activeTurnNotSteerable": {"turnKind": "review"}}, "active_turn_not_steerable"),
        ({"somethingNew": None}, "something_new"),
    ],
)
def test_an_error_is_named_by_its_info(info: object, code: str) -> None:
    assert code_of(m.TurnError("no", info)) == code


def test_an_error_is_told_with_its_details() -> None:
    assert message_of(m.TurnError("no", None, "really")) == "no (really)"
    assert message_of(m.TurnError("no")) == "no"
    assert message_of(None) == "The turn failed."
    assert code_of(None) == "codex_error"


@pytest.mark.parametrize("name", MODES)
def test_a_mode_is_found_again_by_what_codex_reports(name: str) -> None:
    mode = MODES[name]
    assert mode_of(mode.approval, {"type": mode.policy}) == name
    assert mode_of(mode.approval, mode.sandbox) == name


def test_the_content_of_a_message_keeps_what_is_not_known() -> None:
    found = content_of(
        [
            {"type": "text", "text": "hi"},
            {"type": "image", "url": "data:image/png;base64,aGk="},
            {"type": "image", "url": "http://a/b.png"},
            {"type": "localImage", "path": "/a.png"},
            {"type": "skill", "name": "x"},
            3,
        ]
    )
    assert [msgspec.to_builtins(block)["type"] for block in found] == [
        *("text", "image", "image", "file_ref", "unknown", "unknown")
    ]
