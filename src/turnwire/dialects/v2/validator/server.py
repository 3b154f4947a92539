"""Checks the server frames: their form, and their order."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct, ValidationError

from turnwire.core.question_names import asked_by_name
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.frames import ServerFrame, UnknownFrame
from turnwire.dialects.v2.validator.answers import AnswerCheck
from turnwire.dialects.v2.validator.connection import Connection, Say
from turnwire.dialects.v2.validator.content import same_content
from turnwire.dialects.v2.validator.effects import shown_by_entry, shown_by_start, shown_by_state
from turnwire.dialects.v2.validator.envelope import counts, envelope_fault
from turnwire.dialects.v2.validator.log import LogCheck
from turnwire.dialects.v2.validator.words import word_fault

__all__ = ["ServerCheck"]

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
    """Checks the frames of one server, over all connections of one client."""

    def __init__(self, say: Say, answers: AnswerCheck) -> None:
        self._say = say
        self._answers = answers
        self._epoch: str | None = None
        self._log = LogCheck(say)
        self._before = (0, 0, 0)  # entries, turns and tools of earlier logs
        self.unknown_kinds: Counter[str] = Counter()

    def counts(self) -> tuple[int, int, int]:
        """Returns the numbers of entries, turns and tool calls."""
        (entries, turns, tools), log = self._before, self._log.counts()
        return entries + log[0], turns + log[1], tools + log[2]

    def feed(self, raw: bytes, value: dict[str, Any], connection: Connection) -> None:
        """Checks a frame with a valid envelope."""
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
        """Counts a frame with an invalid envelope, so that one fault causes only one violation."""
        if counts(value.get("sequence")):
            connection.sequence = value["sequence"]
        self._skip_entry(value)

    def _skip_entry(self, value: dict[str, Any]) -> None:
        """Counts an entry of an unknown type."""
        payload = value.get("payload")
        number = payload.get("message_sequence") if isinstance(payload, dict) else None
        if counts(number):
            self._log.is_new(number, value, live=True)

    def _read(self, raw: bytes, value: dict[str, Any]) -> Any:
        """Decodes the frame. Returns None if its type is unknown or its payload is invalid."""
        name = value["type"]
        read = _READERS.get(name)
        if read is None:
            self.unknown_kinds[name] += 1
            return None
        try:
            frame = read(raw)
        except ValidationError as error:
            self._say("bad_payload", f"{name}: {error}")
            return None
        if fault := word_fault(frame.payload):
            self._say("bad_payload", f"{name}: {fault}")
            return None
        return frame

    # --- the first frames ---------------------------------------------------------------------

    def _frame(self, frame: Any, value: dict[str, Any], connection: Connection) -> None:
        if isinstance(frame, f.SessionConnected | f.SessionResumed):
            self._hello(frame, connection)
            return
        info = connection.info
        if connection.stage == "hello" or info is None:
            if isinstance(frame, f.SessionError):
                connection.refuse(frame.payload.code)
                self._answers.error(frame.payload, self._log, 0)
            else:
                said = f"{value['type']} before session.connected or session.resumed"
                self._say("handshake_order", said)
            return
        self._log.turns.trace(frame.turn_id, frame.trace_id)
        match frame:
            case f.SessionReset():
                connection.reset(frame.payload)
            case f.SessionReplayComplete():
                self._replay_again(connection)
                if connection.stage != "later_replay":
                    self._log.replayed_all(info.first, connection.replayed_turns)
                connection.replay_complete(frame.payload.through)
            case f.SessionState():
                connection.state()
                self._answers.effect(shown_by_state(frame.payload, self._log))
                self._log.state.told(frame, info.limits.max_queue)
            case f.SessionHeartbeatAck():
                self._answers.heartbeat(frame.payload.client_message_id)
            case f.SessionError(payload=payload):
                if payload.client_message_id is not None:
                    connection.expect_live("session.error")
                else:
                    connection.told(payload.code, answers=self._answers.nameless)
                self._answers.error(payload, self._log, info.limits.max_queue)
            case _:
                connection.expect_live(value["type"])
                if not self._answers.is_late(frame.payload, value["type"]):
                    self._log.state.due(frame)
                self._live(frame, value, info)
                self._log.state.noted(frame)

    def closed(self) -> None:
        """Checks a connection that was closed normally."""
        self._log.state.closed()

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
        self._log.turns.trace(frame.turn_id, frame.trace_id)

    def _replay_again(self, connection: Connection) -> None:
        """Starts a new replay if one of its frames comes between live frames."""
        if connection.stage == "live":
            self._log.state.closed()
            self._log.replays()
            connection.replay_again(self._log.head)

    def _replay(self, raw: bytes, connection: Connection) -> None:
        self._replay_again(connection)
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
        self._log.turns.trace(value["turn_id"], value["trace_id"])
        frame = self._read(bytes(replay.event), value)
        if isinstance(frame, f.AssistantComplete):
            self._log.complete(frame, value, live=False)
        elif number is None:
            self._say("replay_order", f"{value['type']} has no number and cannot be replayed")
        elif self._log.is_new(number, value, live=False) and frame is not None:
            self._log.about(frame, live=False)
            self._log.entry(frame)

    # --- live ---------------------------------------------------------------------------------

    def _live(self, frame: Any, value: dict[str, Any], info: p.SessionInfo) -> None:
        log, payload = self._log, frame.payload
        if isinstance(frame, f.TurnStarted):
            if log.turns.started(frame, runs=log.state.running):
                log.state.started()
            self._answers.effect(shown_by_start(payload, held=log.queue.held))
            log.queue.started(payload)
        elif isinstance(frame, f.AssistantComplete):
            log.complete(frame, value, live=True)
        elif isinstance(payload, p.Accepted):
            self._answers.ack(value["type"].removesuffix(".ack"), payload, info, log)
        elif not isinstance(frame, f.ConversationUpdated):
            self._content(frame, value)

    def _content(self, frame: Any, value: dict[str, Any]) -> None:
        log, payload = self._log, frame.payload
        if getattr(payload, "message_sequence", None) is not None and not _is_partial(payload):
            self._entry(frame, value)
            return
        log.about(frame, live=True)
        if isinstance(frame, f.AssistantToolProgress):
            log.tools.progress(payload.tool_use_id)
        elif isinstance(frame, f.AssistantDiscarded):
            log.blocks.discarded(payload.block_ids)
        elif isinstance(frame, f.AssistantToolCall) and asked_by_name(payload.tool_name):
            self._say("question_as_tool_call", payload.tool_use_id)
        elif _is_partial(payload):
            log.blocks.partial(frame)
        elif not isinstance(frame, f.SessionSystemEvent):  # else: an event that is not stored
            self._say("wrong_block", f"{payload.block_id} is finished, but has no message_sequence")

    def _entry(self, frame: Any, value: dict[str, Any]) -> None:
        payload = frame.payload
        if not self._log.is_new(payload.message_sequence, value, live=True):
            return
        self._log.about(frame, live=True)
        self._log.entry(frame)
        self._answers.effect(shown_by_entry(payload))
        if isinstance(frame, f.UserMessage) and payload.steered_as is not None:
            self._log.queue.steered(payload.steered_as)
        if isinstance(frame, f.UserMessage) and payload.client_message_id is not None:
            self._words(payload.client_message_id, payload)

    def _words(self, own_id: str, told: p.UserWords) -> None:
        """Checks that a message has the content that this client sent, or replaced it with."""
        message = self._answers.message(own_id)
        sent = self._log.queue.content(own_id) or (message and message.content)
        if sent and not same_content(sent, told.content):
            self._say("wrong_words", f"{own_id} has different content")


def _is_partial(payload: Any) -> bool:
    return isinstance(payload, p.BlockPayload) and payload.partial
