"""The examples that define RPC messages on a real socket, made from lines of Claude Code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.dialects.rpc.helpers.example_messages import (
    MESSAGE_DELTA,
    MESSAGE_STOP,
    RESULT,
    TEXT_DELTA,
    TOOL_RESULT,
    TOOL_START,
)
from tests.server.helpers.frame_checks import play
from tests.server.helpers.rpc_client import Frame
from tests.server.helpers.servers import Serving
from turnwire.agents.replay import ReplayAgent

Line = dict[str, Any]


def said(kind: str, **fields: Any) -> Line:
    event = {"type": kind, **fields}
    return {"type": "stream_event", "event": event, "session_id": "sess-xyz", "uuid": "u"}


def message(kind: str, message_id: str | None, *content: Line) -> Line:
    body = {"role": kind, "content": [*content]} | ({"id": message_id} if message_id else {})
    return {"type": kind, "message": body, "session_id": "sess-xyz"}


def grows(index: int, block: Line, *deltas: Line) -> list[Line]:
    """A block from its start to its end."""
    return [
        said("content_block_start", index=index, content_block=block),
        *(said("content_block_delta", index=index, delta=delta) for delta in deltas),
        said("content_block_stop", index=index),
    ]


def ends(reason: str, tokens: int) -> list[Line]:
    delta = said("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": tokens})
    return [delta, said("message_stop")]


HOLOGRAM = {"type": "hologram", "beams": 3}
CALL = {"type": "tool_use", "id": "toolu_xxx", "name": "Read", "input": {"file_path": "a.txt"}}
BAD_CALL = {"type": "tool_use", "id": "toolu_bad", "name": "Bash", "input": {"command": "false"}}
GIVEN = {"type": "tool_result", "tool_use_id": "toolu_xxx", "content": "file contents here..."}
FAILED = {
    "type": "tool_result",
    "tool_use_id": "toolu_bad",
    "content": [{"type": "text", "text": "Exit code 1"}],
    "is_error": True,
}
LINES: list[Line] = [
    {"type": "system", "subtype": "init", "session_id": "sess-xyz", "model": "m", "tools": []},
    # The first message says nothing of itself but its id; the second not even that it has content.
    said("message_start", message={"id": "msg_1"}),
    *grows(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hello"}),
    message("assistant", "msg_1", {"type": "text", "text": "Hello"}),
    *grows(
        1,
        {**CALL, "input": {}},
        {"type": "input_json_delta", "partial_json": '{"file_path":'},
        {"type": "input_json_delta", "partial_json": ' "a.txt"}'},
    ),
    message("assistant", "msg_1", CALL),
    *grows(2, {**BAD_CALL, "input": {}}),
    message("assistant", "msg_1", BAD_CALL),
    *ends("tool_use", 20),
    message("user", None, GIVEN),
    message("user", None, FAILED),
    said("message_start", message={"id": "msg_2", "content": None, "model": "m"}),
    *grows(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    message("assistant", "msg_2", {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
    *grows(1, HOLOGRAM),
    message("assistant", "msg_2", HOLOGRAM),
    *ends("end_turn", 150),
    {**json.loads(RESULT), "result": "Hello"},
]


def played(tmp_path: Path, check: Callable[[list[Frame]], None]) -> None:
    """Plays these lines for a client, and passes its streamed messages to `check`."""
    recording = tmp_path / "examples.jsonl"
    recording.write_text("".join(json.dumps(line) + "\n" for line in LINES))

    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(provider="claude")
            frames = await client.query("go")
            check([frame["data"] for frame in frames])

    play(tmp_path / "data", scene, agents={"claude": ReplayAgent(recording, speed=0)})


def stripped(data: Frame) -> Frame:
    return {key: value for key, value in data.items() if key != "uuid"}


def test_every_example_of_the_format_comes_over_the_socket(tmp_path: Path) -> None:
    def check(streamed: list[Frame]) -> None:
        come = [stripped(data) for data in streamed]
        for example in (TEXT_DELTA, TOOL_START, TOOL_RESULT, MESSAGE_DELTA, MESSAGE_STOP):
            assert stripped(json.loads(example)) in come
        end = come.index(stripped(json.loads(MESSAGE_DELTA)))
        assert come[end + 1] == stripped(json.loads(MESSAGE_STOP)), (
            "two frames, one after the other"
        )
        assert json.loads(RESULT).items() <= come[-1].items()
        uuids = [data["uuid"] for data in streamed if data["type"] == "stream_event"]
        numbers = [re.fullmatch(r"evt-\w{8}-(\d+)", uuid) for uuid in uuids]
        counted = [int(number[1]) for number in numbers if number is not None]
        assert len(counted) == len(uuids) == len({*uuids})
        assert counted == sorted(counted)
        assert {data["provider"] for data in streamed} == {"claude"}

    played(tmp_path, check)


def test_a_message_start_without_content_is_sent(tmp_path: Path) -> None:
    def check(streamed: list[Frame]) -> None:
        starts = [e["message"] for e in events(streamed) if e["type"] == "message_start"]
        assert [each["id"] for each in starts] == ["msg_1", "msg_2"]
        assert [data["message"]["id"] for data in streamed if data["type"] == "assistant"] == [
            *("msg_1", "msg_1", "msg_1", "msg_2", "msg_2")
        ]

    played(tmp_path, check)


def test_each_kind_of_delta_grows_its_own_block(tmp_path: Path) -> None:
    def check(streamed: list[Frame]) -> None:
        words: dict[tuple[int, str], str] = {}  # how they are cut does not matter
        for event in events(streamed):
            if event["type"] == "content_block_delta":
                kind, text = event["delta"].values()
                place = (event["index"], kind)
                words[place] = words.get(place, "") + text
        assert words == {
            (0, "text_delta"): "Hello",
            (1, "input_json_delta"): '{"file_path": "a.txt"}',
            (0, "thinking_delta"): "Hm.",
        }

    played(tmp_path, check)


def test_the_result_of_a_tool_is_a_user_message_of_its_own_with_its_real_outcome(
    tmp_path: Path,
) -> None:
    def check(streamed: list[Frame]) -> None:
        users = [data["message"]["content"] for data in streamed if data["type"] == "user"]
        assert users[0] == [{"type": "text", "text": "go"}]
        assert [len(content) for content in users[1:]] == [1, 1]
        assert [(c["tool_use_id"], c["is_error"]) for [c] in users[1:]] == [
            ("toolu_xxx", False),
            ("toolu_bad", True),
        ]
        assert "Exit code 1" in json.dumps(users[2])
        assert "Exit code 1" not in json.dumps(events(streamed)), "no output is an input"

    played(tmp_path, check)


def test_an_unknown_block_has_the_same_shape_in_every_message(tmp_path: Path) -> None:
    def check(streamed: list[Frame]) -> None:
        shape = {"type": "unknown", "originalType": "hologram", "data": HOLOGRAM}
        begun = [e["content_block"] for e in events(streamed) if e["type"] == "content_block_start"]
        assert begun[-1] == shape
        finished = [data["message"] for data in streamed if data["type"] == "assistant"][-1]
        assert (finished["content"], finished["index"]) == ([shape], 1)

    played(tmp_path, check)


def events(streamed: list[Frame]) -> list[Frame]:
    return [data["event"] for data in streamed if data["type"] == "stream_event"]
