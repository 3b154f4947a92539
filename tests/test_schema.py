"""The checked-in JSON Schema matches the types, and recorded messages match the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from tests.helpers.recorded_streams import (
    BOTH_DIRECTIONS,
    FIXTURES,
    RECORDED,
    events_of,
    rpc_of,
    ui_of,
)
from tests.helpers.schema_validator import validator
from turnwire.cli.commands.schema import written
from turnwire.cli.main import main
from turnwire.cli.recordings.vocabularies import schemas
from turnwire.core.events import AssistantMessage, UserMessage
from turnwire.dialects import rpc
from turnwire.dialects.claude import encode

FOLDER = Path(__file__).parent.parent / "schema"
NAMES = sorted(schemas())


def assert_fits(name: str, value: Any) -> None:
    error = next(validator(name).iter_errors(value), None)
    assert error is None, f"{error.json_path}: {error.message}" if error else ""


# --- the files --------------------------------------------------------------------------------


def test_the_vocabularies_have_their_schemas() -> None:
    assert [
        *(
            "acp",
            "blocks",
            "claude",
            "codex",
            "deltas",
            "events",
            "messages",
            "rpc",
            "rpc-calls",
            "rpc-frames",
        ),
        *("ui", "v2", "v2-client", "view"),
    ] == NAMES


def test_the_checked_in_files_are_up_to_date() -> None:
    found = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    assert found == written(), "the types have changed: run `make schema`, and look at the change"


def test_the_command_writes_them(tmp_path: Path) -> None:
    out = tmp_path / "not" / "there" / "yet"
    result = CliRunner().invoke(main, ["schema", "--out", str(out)])
    assert result.exit_code == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == written()
    assert result.output.splitlines() == [str(out / f"{name}.schema.json") for name in NAMES]


def test_the_command_prints_them() -> None:
    result = CliRunner().invoke(main, ["schema"])
    assert result.exit_code == 0
    assert json.loads(result.output) == schemas()


def test_the_command_prints_and_writes_one_of_them(tmp_path: Path) -> None:
    assert json.loads(CliRunner().invoke(main, ["schema", "v2"]).output) == schemas()["v2"]
    CliRunner().invoke(main, ["schema", "--out", str(tmp_path), "v2-client"])
    assert [path.name for path in tmp_path.iterdir()] == ["v2-client.schema.json"]


def test_an_unknown_vocabulary_is_refused_with_the_known_names() -> None:
    result = CliRunner().invoke(main, ["schema", "v3"])
    assert result.exit_code == 2
    assert "there is no schema 'v3'. Name one of acp, blocks, " in result.stderr


def test_an_unwritable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = CliRunner().invoke(main, ["schema", "--out", str(tmp_path / "file" / "below")])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"turnwire: cannot write {tmp_path / 'file'}")


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_valid_schema_whose_references_resolve(name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["description"]
    references = set(_references(schema))
    assert references == {f"#/$defs/{definition}" for definition in schema["$defs"]}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


@pytest.mark.parametrize("name", NAMES)
def test_each_type_has_a_description(name: str) -> None:
    for title, definition in schemas()[name]["$defs"].items():
        assert definition.get("description"), f"{title} has no docstring"


def test_the_descriptions_of_fields_are_their_comments() -> None:
    events = schemas()["events"]["$defs"]
    own, inherited = (events["TurnFailed"]["properties"][name] for name in ("code", "session_id"))
    assert own["description"].startswith("the agent's error code")
    assert inherited["description"] == "the agent's own session"
    claude = schemas()["claude"]["$defs"]
    limit = claude["RateLimitInfo"]["properties"]["resetsAt"]
    assert limit["description"] == "seconds since 1970"
    assert "noqa" not in json.dumps(schemas())


# --- messages on the wire ---------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_output_of_the_real_cli_fits_the_schema(path: Path) -> None:
    for line in path.read_bytes().splitlines():
        assert_fits("claude", json.loads(line))


@pytest.mark.parametrize("path", BOTH_DIRECTIONS, ids=lambda path: path.stem)
def test_recorded_input_of_the_real_cli_fits_the_schema(path: Path) -> None:
    for line in path.read_bytes().splitlines():
        envelope = json.loads(line)
        if envelope["dir"] == "in":
            assert_fits("claude", envelope["msg"])


@pytest.mark.parametrize("path", RECORDED[::3], ids=lambda path: path.stem)  # jsonschema is slow
def test_translated_messages_fit_the_schema(path: Path) -> None:
    events = events_of(path.read_bytes().splitlines())
    ui = ui_of(events)
    bridge = rpc.RpcBridge(system=True, tool_progress="output_delta")
    for event in events:
        assert_fits("events", json.loads(encode(event)))
        if isinstance(event, AssistantMessage | UserMessage):
            for block in event.content:
                assert_fits("blocks", json.loads(encode(block)))
    for ui_event in ui:
        assert_fits("ui", json.loads(encode(ui_event)))
    for message in rpc_of(ui, bridge):
        assert_fits("rpc", json.loads(encode(message)))


@pytest.mark.parametrize("name", ["acp", "codex"])
def test_recorded_messages_of_other_agents_fit_the_schema(name: str) -> None:
    recorded = sorted((FIXTURES / name).glob("*.jsonl"))
    assert recorded
    for path in recorded:
        for line in path.read_bytes().splitlines():
            envelope = json.loads(line)
            if name == "acp" or envelope["dir"] == "out":  # requests to Codex have no types
                assert_fits(name, envelope["msg"])


def test_other_agents_may_say_unknown_things_but_nothing_wrong() -> None:
    novel = {"jsonrpc": "2.0", "method": "novel", "params": {"a": 1}}
    for name in ("acp", "codex"):
        assert_fits(name, novel)
        assert_fits(name, {"id": 1, "result": {}})
        assert not validator(name).is_valid({"id": 1})
    update = {"sessionId": "s", "update": {"sessionUpdate": "novel"}}
    assert_fits("acp", {"method": "session/update", "params": update})
    assert not validator("acp").is_valid({"method": "session/update", "params": {}})
    item = {"item": {"type": "novel"}, "threadId": "t", "turnId": "1"}
    assert_fits("codex", {"method": "item/started", "params": item})
    assert not validator("codex").is_valid({"method": "item/started", "params": {"item": 1}})


# --- Claude's wire is open --------------------------------------------------------------------

UNKNOWN: list[dict[str, Any]] = [
    {},
    {"type": "novel"},
    {"type": "system", "subtype": "novel"},
    {"type": "system"},
    {"type": "stream_event", "event": {"type": "novel"}},
    {"type": "assistant", "message": {"content": [{"type": "novel"}]}},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "novel"}},
    {"type": "control_response", "response": {"subtype": "novel"}},
    {"type": "keep_alive", "novel": 1},
]

WRONG: list[Any] = [
    [],
    "text",
    {"type": "stream_event"},
    {"type": "system", "subtype": "init", "tools": "all"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": 1}]}},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}},
]


@pytest.mark.parametrize("message", UNKNOWN, ids=json.dumps)
def test_unknown_messages_fit_the_schema(message: dict[str, Any]) -> None:
    assert_fits("claude", message)


@pytest.mark.parametrize("message", WRONG, ids=json.dumps)
def test_wrong_fields_of_known_messages_do_not_fit_the_schema(message: Any) -> None:
    assert not validator("claude").is_valid(message)


def test_our_own_vocabularies_are_closed() -> None:
    for name in ("blocks", "events", "rpc", "ui"):
        assert not validator(name).is_valid({"type": "novel"})
    assert_fits("blocks", {"type": "unknown", "originalType": "novel", "data": {}})


# --- protocol v2: the server's frames are open, the client's are not --------------------------


def test_an_unknown_frame_of_the_server_fits_the_schema() -> None:
    assert_fits("v2", {"type": "session.novel", "anything": 1})
    assert not validator("v2").is_valid({"type": "session.reset", "payload": {}})


def test_a_frame_of_a_client_must_be_known_to_its_last_field() -> None:
    stop: dict[str, Any] = {"type": "user.interrupt", "payload": {"turn_id": 1}}
    assert_fits("v2-client", stop)
    assert not validator("v2-client").is_valid({"type": "user.novel", "payload": {}})
    assert not validator("v2-client").is_valid(
        {**stop, "payload": {"turn_id": 1, "turnId": 1}},
    )
