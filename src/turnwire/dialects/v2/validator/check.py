"""Checks a recorded session against the rules of protocol v2, frame by frame.

A client tolerates many faults, because a conversation must go on. This check tolerates none, and
reports each broken rule with its line.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from turnwire.core.violations import Violation, Violations
from turnwire.dialects.v2.address import Address
from turnwire.dialects.v2.close_codes import may_reconnect
from turnwire.dialects.v2.recording import (
    ClientLine,
    ConnectLine,
    ServerLine,
    read_line,
)
from turnwire.dialects.v2.validator.answers import AnswerCheck
from turnwire.dialects.v2.validator.connection import Connection
from turnwire.dialects.v2.validator.envelope import envelope_fault
from turnwire.dialects.v2.validator.server import ServerCheck
from turnwire.errors import BadLine

__all__ = ["SESSION_RULES", "SessionCheck", "SessionReport"]

SESSION_RULES = {
    # Lines and frames.
    "bad_line": "Every line is a frame, or one of connect, client, server and close.",
    "bad_envelope": "A server frame has all seven fields of the envelope, each well formed.",
    "bad_payload": "A payload of a known type has the fields of that type.",
    "wrong_conversation": "All frames belong to the conversation that the client connected to.",
    "wrong_trace": "Each turn has its own trace_id; outside of turns trace_id is null.",
    "sequence_gap": "`sequence` counts the frames of a connection: 1, 2, 3, ...",
    # Connections.
    "bad_address": "An address has each parameter at most once, and well formed.",
    "not_connected": "Frames are sent only on an open connection.",
    "handshake_order": "A connection starts with the frames of section 3, in their order.",
    "wrong_hello": "session.resumed comes exactly if last_sequence was accepted; a bad address is refused.",
    "wrong_first": "`first` is the first entry that the client lacks, `head` the newest entry.",
    "wrong_reset": "session.reset comes exactly if the client's copy is void, and names the reason.",
    "replay_order": "A replay has no gap; the end of a turn comes after the entry it follows.",
    "replay_differs": "A replayed event equals the frame that was first sent, except for its sequence.",
    "complete_not_replayed": "The end of a turn is replayed unless it is before the client's cursor.",
    "wrong_through": "`through` is the last number that was replayed, and not less than `head`.",
    "head_backwards": "The log of one epoch does not become shorter.",
    "wrong_close": "Close codes from 4000 on are in the table, and match the error before them.",
    "reconnected_in_vain": "A client does not reconnect after a close code from 4500 on.",
    # Turns and the log.
    "message_sequence_gap": "A live entry has the number after the newest entry.",
    "turn_not_started": "Frames of a turn come after its turn.started.",
    "turn_started_wrongly": "A new turn has the greatest id and the next message; only an open turn resumes.",
    "turn_overlaps": "Only one turn runs at a time.",
    "complete_twice": "A turn has exactly one assistant.complete.",
    "wrong_complete": "assistant.complete has the correct position in the log and the correct result.",
    "wrong_words": "A user.message has the content that its client sent, or replaced it with.",
    "after_complete": "After a turn's assistant.complete only its background work sends frames.",
    # Blocks.
    "wrong_block": "A block keeps its type, id and index, and has chunk_seq or message_sequence.",
    "chunk_gap": "`chunk_seq` counts the pieces of a block: 1, 2, 3, ...",
    "snapshot_missing": "On a new connection a growing block starts with a snapshot.",
    "snapshot_differs": "A snapshot contains all earlier pieces.",
    "piece_after_finish": "A finished block does not grow.",
    "block_finished_twice": "A block is finished only once, and its id is unique.",
    "block_left_open": "Every block is finished or discarded before its turn ends.",
    "discarded_not_growing": "Only growing blocks are discarded.",
    # Tools, questions and permissions.
    "question_as_tool_call": "A question comes as assistant.request_input, not as a tool call.",
    "progress_out_of_place": "Progress of a tool comes between its call and its result.",
    "result_without_call": "A tool result belongs to a call or a question.",
    "result_twice": "A tool call has only one result.",
    "result_missing": "All tool calls of the agent have results when the turn ends.",
    "result_while_waiting": "A call that waits for a person has no result before its request is resolved.",
    "unknown_parent": "parent_tool_use_id names an earlier tool call.",
    "permission_without_call": "A permission request belongs to an earlier tool call without a result.",
    "question_without_call": "A question with a tool call belongs to a call without a result.",
    "request_twice": "A request is opened only once.",
    "resolved_not_open": "Only an open request is resolved, and only once.",
    "wrong_resolution": "A request is resolved as it was answered, and expires only at its deadline.",
    "request_left_open": "A turn with an open request has not ended.",
    # Commands and their answers.
    "bad_command": "A client frame has a known type and only known fields.",
    "answer_without_command": "An ack or a refusal answers a frame that was sent.",
    "unanswered": "Every client frame gets an answer.",
    "wrong_answer": "An ack matches the type and content of its frame, and the state.",
    "wrong_refusal": "A refusal has the error code that matches the frame and the state.",
    "not_offered": "Only commands in capabilities.commands are accepted.",
    "too_large": "Frames larger than max_frame_bytes are not accepted.",
    "wrong_duplicate": "A repeat gets the first answer again, marked as duplicate; other content is refused.",
    "answer_after_effect": "An ack comes before the frames that its command causes.",
    "wrong_error": "An error has a known code, with the values of the table.",
    # The state.
    "state_missing": "A session.state follows each change of the state, before other frames.",
    "wrong_state": "session.state is consistent in itself and with the frames before it.",
    "wrong_requests": "session.state lists exactly the open requests, the oldest first.",
    "wrong_queue": "session.state lists the queue in its order, with at most max_queue messages.",
}
"""The rules by the codes of their violations."""


class SessionReport(Struct, frozen=True, gc=False):
    """The report on a recorded session. `lines` is always `typed` + `unknown` + `errors`."""

    lines: int
    typed: int  # lines with only known types and fields
    unknown: int  # frames of an unknown type
    errors: int  # lines that are neither a frame nor connect, client, server or close
    connections: int
    client_frames: int
    server_frames: int
    entries: int  # entries of the log, each counted once
    turns: int
    tools: int  # tool calls and questions
    unknown_kinds: dict[str, int]  # type -> number of frames
    violation_count: int
    violations: list[Violation]  # only the first violations


class SessionCheck:
    """Checks a recording: call `feed` for every line in order, then `finish`, then read `report`.

    Treats several connections as reconnects of one client.
    """

    def __init__(self) -> None:
        self._violations = Violations()
        self._line = 0
        self._lines = self._errors = 0
        self._connections = self._client_frames = self._server_frames = 0
        self._connection: Connection | None = None
        self._conversation: str | None = None
        self._last_close = 0
        self._answers = AnswerCheck(self._say)
        self._server = ServerCheck(self._say, self._answers)

    def _say(self, code: str, message: str) -> None:
        self._violations.add(code, self._line, message)

    # --- input and report ---------------------------------------------------------------------

    def feed(self, raw: bytes, number: int) -> None:
        """Takes one line."""
        try:
            line = read_line(raw, number)
        except BadLine as bad:
            self.bad_line(bad)
            return
        self._lines += 1
        self._line = number
        match line:
            case ConnectLine(address):
                self._connect(address)
            case ClientLine():
                self._client(line)
            case ServerLine():
                self._server_frame(line)
            case _:
                self._close(line.code)

    def bad_line(self, bad: BadLine) -> None:
        """Counts a line that could not be read."""
        self._lines += 1
        self._errors += 1
        self._line = bad.line
        self._say("bad_line", bad.detail)

    def finish(self) -> None:
        """Ends the recording. An open connection must have all its answers."""
        if self._connection is not None:
            self._answers.ended(in_order=True)

    def report(self) -> SessionReport:
        """Returns the report on the lines so far."""
        unknown = self._server.unknown_kinds
        return SessionReport(
            self._lines,
            self._lines - unknown.total() - self._errors,
            unknown.total(),
            self._errors,
            self._connections,
            self._client_frames,
            self._server_frames,
            *self._server.counts(),
            dict(unknown.most_common()),
            self._violations.count,
            self._violations.in_order(),
        )

    # --- connections --------------------------------------------------------------------------

    def _connect(self, text: str) -> None:
        if not may_reconnect(self._last_close):
            self._say("reconnected_in_vain", f"after {self._last_close}")
        if self._connection is not None:
            self._connection.left_open()
        address = Address.of(text)
        if address is None:
            self._say("bad_line", f"not the address of a conversation: {text}")
        else:
            self._in_conversation(address.conversation_id)
            if address.fault is not None:
                self._say("bad_address", address.fault)
        self._begin(address, both_sides=True)

    def _begin(self, address: Address | None, *, both_sides: bool) -> Connection:
        self._connections += 1
        self._connection = Connection(self._say, address)
        self._answers.connected(both_sides=both_sides)
        return self._connection

    def _close(self, code: int) -> None:
        if self._connection is None:
            self._say("not_connected", f"closed with {code}")
            return
        self._connection.close(code)
        self._answers.ended(in_order=code == 1000)
        if code == 1000:
            self._server.closed()
        self._connection = None
        self._last_close = code

    def _in_conversation(self, conversation_id: str) -> None:
        self._conversation = self._conversation or conversation_id
        if conversation_id != self._conversation:
            self._say("wrong_conversation", f"{conversation_id}, not {self._conversation}")

    # --- the client ---------------------------------------------------------------------------

    def _client(self, line: ClientLine) -> None:
        self._client_frames += 1
        if self._connection is None:
            self._say("not_connected", "a client frame")
        self._answers.command(line.raw)

    # --- the server ---------------------------------------------------------------------------

    def _server_frame(self, line: ServerLine) -> None:
        self._server_frames += 1
        value = line.value
        if fault := envelope_fault(value, replayed=False):
            self._say("bad_envelope", fault)
            if isinstance(value, dict) and self._connection is not None:
                self._server.skip(value, self._connection)
            return
        connection = self._connection
        if line.bare and (connection is None or _begins_again(value, connection)):
            connection = self._begin(None, both_sides=False)
        if connection is None:
            self._say("not_connected", value["type"])
            return
        self._in_conversation(value["conversation_id"])
        self._server.feed(line.raw, value, connection)


def _begins_again(value: Any, connection: Connection) -> bool:
    """Returns whether a bare frame starts a new connection: bare recordings have no `close`."""
    is_hello = value["type"] in ("session.connected", "session.resumed")
    return is_hello and connection.stage != "hello"
