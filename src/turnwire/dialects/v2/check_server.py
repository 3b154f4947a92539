"""Checks what the server says: every frame well formed, and in its place."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, TypeGuard, get_args

import msgspec
from msgspec import Raw, Struct, ValidationError

from turnwire.core.error_codes import ERRORS
from turnwire.core.questions import asks_a_person
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.check_answers import AnswerCheck
from turnwire.dialects.v2.check_connection import Connection, Say
from turnwire.dialects.v2.check_log import LogCheck
from turnwire.dialects.v2.frames import ServerFrame, UnknownFrame

__all__ = ["ServerCheck", "envelope_fault"]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_TRACE = re.compile(r"[0-9a-f]{32}")
_FIELDS = ("type", "conversation_id", "turn_id", "sequence", "timestamp", "trace_id", "payload")
_READERS = {
    str(kind.__struct_config__.tag): msgspec.json.Decoder(kind).decode
    for kind in get_args(ServerFrame)
    if kind is not UnknownFrame
}


class _ReplayPayload(Struct, gc=False):
    message_sequence: int | None
    event: Raw


class _Replay(Struct, gc=False):
    payload: _ReplayPayload


_read_replay = msgspec.json.Decoder(_Replay).decode


class ServerCheck:
    """The frames of one server, over all connections of one client."""

    def __init__(self, say: Say, answers: AnswerCheck) -> None:
        self._say = say
        self._answers = answers
        self._epoch: str | None = None
        self._log = LogCheck(say)
        self._before = (0, 0, 0)  # entries, turns and tools of logs that are gone
        self.unknown_kinds: Counter[str] = Counter()

    def counts(self) -> tuple[int, int, int]:
        """How many entries, turns and tool calls there were."""
        (entries, turns, tools), log = self._before, self._log
        return entries + log.entries, turns + log.turns, tools + log.tools

    def feed(self, raw: bytes, value: dict[str, Any], connection: Connection) -> None:
        """A frame with a sound envelope."""
        sequence, name = value["sequence"], value["type"]
        if sequence != connection.sequence + 1:
            self._say("sequence_gap", f"{sequence} after {connection.sequence}")
        connection.sequence = sequence
        if connection.stage == "refused":
            self._say("handshake_order", f"{name} after the connection was refused")
            return
        if name == "message.replay":
            self._replay(raw, connection)
            return
        frame = self._read(raw, value)
        if frame is not None:
            self._frame(frame, value, connection)
        elif connection.stage == "live":
            self._skip_entry(value)

    def skip(self, value: dict[str, Any], connection: Connection) -> None:
        """A frame with a broken envelope: only its numbers count, so that one fault is one."""
        if _counts(value.get("sequence")):
            connection.sequence = value["sequence"]
        self._skip_entry(value)

    def _skip_entry(self, value: dict[str, Any]) -> None:
        """An entry that is not understood is still an entry."""
        payload = value.get("payload")
        number = payload.get("message_sequence") if isinstance(payload, dict) else None
        if _counts(number):
            self._log.is_new(number, value, live=True)

    def _read(self, raw: bytes, value: dict[str, Any]) -> Any:
        """The frame as its type; None where that is not known, or the payload not right."""
        name = value["type"]
        read = _READERS.get(name)
        if read is None:
            self.unknown_kinds[name] += 1
            return None
        code = value["payload"].get("code")
        if name == "session.error" and (not isinstance(code, str) or code not in ERRORS):
            self._say("wrong_error", f"there is no code {code!r}")
            return None
        try:
            return read(raw)
        except ValidationError as error:
            self._say("bad_payload", f"{name}: {error}")
            return None

    # --- the beginning of a connection --------------------------------------------------------

    def _frame(self, frame: Any, value: dict[str, Any], connection: Connection) -> None:
        if isinstance(frame, f.SessionConnected | f.SessionResumed):
            self._hello(frame, connection)
            return
        if connection.stage == "hello" or connection.info is None:
            if isinstance(frame, f.SessionError):
                connection.refuse(frame.payload.code)
                self._answers.error(frame.payload)
            else:
                said = f"{value['type']} before session.connected or session.resumed"
                self._say("handshake_order", said)
            return
        self._log.trace(frame.turn_id, frame.trace_id)
        match frame:
            case f.SessionReset():
                connection.reset(frame.payload)
            case f.SessionReplayComplete():
                connection.replay_complete(frame.payload.through)
                self._log.replayed_all(connection.info.first, connection.replayed_turns)
            case f.SessionState():
                first = connection.stage == "state"
                connection.state()
                self._log.state(frame, connection.info.limits.max_queue, first=first)
            case f.SessionHeartbeatAck():
                self._answers.heartbeat(frame.payload.client_message_id)
            case f.SessionError(payload=payload):
                if payload.client_message_id is not None:
                    connection.expect_live("session.error")
                self._answers.error(payload)
            case _:
                connection.expect_live(value["type"])
                self._live(frame, value)

    def _hello(self, frame: f.SessionConnected | f.SessionResumed, connection: Connection) -> None:
        info = frame.payload
        if info.epoch != self._epoch:
            if self._epoch is not None:
                self._before = self.counts()
                self._log = LogCheck(self._say)
                self._answers.another_log()
            self._epoch = info.epoch
        connection.hello(info, resumed=isinstance(frame, f.SessionResumed))
        self._log.connected(info)
        self._log.trace(frame.turn_id, frame.trace_id)

    def _replay(self, raw: bytes, connection: Connection) -> None:
        try:
            replay = _read_replay(raw).payload
        except ValidationError as error:
            self._say("bad_payload", f"message.replay: {error}")
            return
        value = msgspec.json.decode(replay.event)
        if fault := envelope_fault(value, replayed=True):
            self._say("bad_envelope", f"event: {fault}")
            return
        number, event = replay.message_sequence, value["payload"]
        if event.get("message_sequence") != number:
            said = f"entry {event.get('message_sequence')} is replayed as {number}"
            self._say("replay_order", said)
            return
        if not connection.replay(number, event.get("after_sequence", 0), value["turn_id"]):
            return
        self._log.trace(value["turn_id"], value["trace_id"])
        frame = self._read(bytes(replay.event), value)
        if isinstance(frame, f.AssistantComplete):
            self._log.complete(frame, value, live=False)
        elif number is None:
            self._say("replay_order", f"{value['type']} without a number is not replayed")
        elif self._log.is_new(number, value, live=False) and frame is not None:
            self._log.about_turn(frame, live=False)
            self._log.entry(frame)

    # --- live ---------------------------------------------------------------------------------

    def _live(self, frame: Any, value: dict[str, Any]) -> None:
        log, payload = self._log, frame.payload
        if isinstance(frame, f.TurnStarted):
            log.turn_started(frame)
            self._answers.happened(payload.client_message_id)
        elif isinstance(frame, f.AssistantComplete):
            log.complete(frame, value, live=True)
        elif isinstance(payload, p.Accepted):
            self._answers.ack(value["type"].removesuffix(".ack"), payload)
        elif not isinstance(frame, f.ConversationUpdated):
            self._content(frame, value)

    def _content(self, frame: Any, value: dict[str, Any]) -> None:
        log, payload = self._log, frame.payload
        if getattr(payload, "message_sequence", None) is not None and not _is_partial(payload):
            self._entry(frame, value)
            return
        log.about_turn(frame, live=True)
        if isinstance(frame, f.AssistantToolProgress):
            log.progress(payload.tool_use_id)
        elif isinstance(frame, f.AssistantDiscarded):
            log.blocks.discarded(payload.block_ids)
        elif isinstance(frame, f.AssistantToolCall) and asks_a_person(payload.tool_name):
            self._say("question_as_tool_call", payload.tool_use_id)
        elif _is_partial(payload):
            log.blocks.partial(frame)
        elif not isinstance(frame, f.SessionSystemEvent):  # else: news of the moment
            self._say("wrong_block", f"{payload.block_id} is finished, but has no number")

    def _entry(self, frame: Any, value: dict[str, Any]) -> None:
        payload = frame.payload
        if not self._log.is_new(payload.message_sequence, value, live=True):
            return
        self._log.about_turn(frame, live=True)
        self._log.entry(frame)
        if isinstance(frame, f.UserMessage):
            self._answers.happened(payload.client_message_id)
        elif isinstance(frame, f.AssistantRequestResolved):
            self._answers.happened(payload.request_id)


def _is_partial(payload: Any) -> bool:
    return isinstance(payload, p.BlockPayload) and payload.partial


def envelope_fault(value: Any, *, replayed: bool) -> str | None:
    """What is wrong with a frame's seven fields, in words."""
    if not isinstance(value, dict):
        return "not an object"
    missing = [name for name in _FIELDS if name not in value]
    if missing:
        return f"without {', '.join(missing)}"
    turn_id, sequence, trace_id = value["turn_id"], value["sequence"], value["trace_id"]
    wrong = {
        "type": not isinstance(value["type"], str),
        "conversation_id": not isinstance(value["conversation_id"], str),
        "turn_id": turn_id is not None and not _counts(turn_id),
        "sequence": sequence is not None if replayed else not _counts(sequence),
        "timestamp": not _matches(_TIME, value["timestamp"]),
        "trace_id": trace_id is not None and not _matches(_TRACE, trace_id),
        "payload": not isinstance(value["payload"], dict),
    }
    return next(
        (f"{name} is {value[name]!r}" for name, is_wrong in wrong.items() if is_wrong), None
    )


def _counts(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
