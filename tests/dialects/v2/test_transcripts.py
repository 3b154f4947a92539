"""The twelve recorded sessions: every frame is read and written back unchanged, and all types occur."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from jsonschema import Draft202012Validator

from tests.dialects.v2.helpers.recorded_sessions import PATHS
from turnwire.cli.recordings.vocabularies import schemas
from turnwire.core.error_codes import ERRORS
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.close_codes import CLOSE_CODES
from turnwire.dialects.v2.commands import ClientFrame
from turnwire.dialects.v2.frames import ServerFrame, UnknownFrame

NAMES = [
    "01_plain_answer",
    "02_thinking_and_tool",
    "03_two_tools_at_once",
    "04_question_answered",
    "05_question_expired",
    "06_permission_with_changed_input",
    "07_queue_full",
    "08_interrupt_with_a_queue",
    "09_drop_and_resume_with_snapshot",
    "10_foreign_epoch_and_reset",
    "11_subagent_and_background_task",
    "12_unprompted_turn",
    "13_another_agent",
]
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "protocol" / "v2.md"

each_session = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@cache
def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def frames(path: Path, side: str) -> list[dict[str, Any]]:
    return [line[side] for line in lines(path) if side in line]


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas()[name])


def tags(union: Any) -> set[str]:
    kinds = (kind for kind in get_args(union) if kind is not UnknownFrame)
    return {kind.__struct_config__.tag for kind in kinds}


def test_the_page_describes_each_of_the_twelve_sessions() -> None:
    assert [path.stem for path in PATHS] == NAMES
    page = PAGE.read_text()
    assert [name for name in NAMES if f"`{name}`" not in page] == []


@each_session
def test_every_line_says_one_thing_and_perhaps_a_comment(path: Path) -> None:
    for line in lines(path):
        (kind,) = set(line) - {"comment"}
        assert kind in ("connect", "client", "server", "close")
        assert line.get("comment", "A.").endswith((".", ",", "...", "?"))


@each_session
def test_every_frame_of_the_server_reads_and_writes_back_the_same(path: Path) -> None:
    for value in frames(path, "server"):
        raw = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        frame = codec.decode(raw)
        assert not isinstance(frame, UnknownFrame)
        assert codec.encode(frame).at(value["sequence"]) == raw


@each_session
def test_every_frame_of_the_client_reads_and_writes_back_the_same(path: Path) -> None:
    for value in frames(path, "client"):
        command = codec.decode_command(json.dumps(value))
        assert json.loads(msgspec.json.encode(command)) == value


@each_session
def test_every_frame_fits_the_schema(path: Path) -> None:
    for side, schema in (("server", "v2"), ("client", "v2-client")):
        for value in frames(path, side):
            error = next(validator(schema).iter_errors(value), None)
            assert error is None, error and error.message


def seconds(frame: dict[str, Any]) -> float:
    return datetime.fromisoformat(frame["timestamp"]).timestamp()


def events(path: Path) -> Iterator[dict[str, Any]]:
    """Returns every frame of the server; of a replay the replayed frame."""
    for value in frames(path, "server"):
        yield value["payload"]["event"] if value["type"] == "message.replay" else value


@each_session
def test_a_turn_takes_as_long_as_it_says(path: Path) -> None:
    began: dict[int, float] = {}
    for value in events(path):
        if value["type"] in ("turn.started", "user.message"):
            began.setdefault(value["turn_id"], seconds(value))
        elif value["type"] == "assistant.complete":
            took = seconds(value) - began[value["turn_id"]]
            assert value["payload"]["duration_ms"] == pytest.approx(took * 1000, abs=50)


@each_session
def test_the_server_is_never_silent_for_longer_than_it_promised(path: Path) -> None:
    last, most = 0.0, 0.0
    for value in frames(path, "server"):
        if value["sequence"] == 1:
            most = value["payload"].get("limits", {}).get("heartbeat_seconds", 0) + 0.1
        else:
            assert 0 <= seconds(value) - last <= most
        last = seconds(value)


def test_every_type_of_frame_occurs_in_both_directions() -> None:
    said = {value["type"] for path in PATHS for value in frames(path, "server")}
    asked = {value["type"] for path in PATHS for value in frames(path, "client")}
    assert tags(ServerFrame) - said == set()
    assert tags(ClientFrame) - asked == set()


def test_errors_and_close_codes_are_those_of_the_tables() -> None:
    for path in PATHS:
        for value in frames(path, "server"):
            if value["type"] == "session.error":
                error, rule = value["payload"], ERRORS[value["payload"]["code"]]
                assert (error["retryable"], error["what_to_do"]) == (
                    rule.retryable,
                    rule.what_to_do,
                )
        closed = [line["close"] for line in lines(path) if "close" in line]
        assert [code for code in closed if code >= 4000 and code not in CLOSE_CODES] == []
