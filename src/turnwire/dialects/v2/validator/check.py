"""Checks a recorded session of protocol v2 against the rules of its page, frame by frame.

A client forgives much, because a conversation must go on. This one forgives nothing, and says which
rule was broken where.
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
    "bad_line": "Every line is a frame, or says who connects, speaks or closes.",
    "bad_envelope": "A frame of the server has all seven fields, each well formed.",
    "bad_payload": "A payload of a known type has the fields of that type.",
    "wrong_conversation": "All frames are of the conversation that the client connected to.",
    "wrong_trace": "A turn has one trace_id, which is its own; outside of turns it is null.",
    "sequence_gap": "`sequence` counts the frames of a connection: 1, 2, 3, ...",
    # Connecting.
    "bad_address": "An address has each parameter once, and well formed.",
    "not_connected": "Frames come on an open connection.",
    "handshake_order": "A connection begins in the order of section 3, each part in its place.",
    "wrong_hello": "session.resumed is said exactly if the client's last_sequence was accepted; a bad address is refused.",
    "wrong_first": "`first` is the first entry that the client lacks, `head` the newest there is.",
    "wrong_reset": "session.reset comes exactly if the client's copy is void, with the reason why.",
    "replay_order": "A replay is without a gap; a turn's end comes after the entry it follows.",
    "replay_differs": "A replayed event is the frame as it was first sent, but for its sequence.",
    "complete_not_replayed": "The end of a turn is replayed if it is not before the client's cursor.",
    "wrong_through": "`through` is the last number that was replayed, and not less than `head`.",
    "head_backwards": "A log of one epoch does not become shorter.",
    "wrong_close": "Close codes from 4000 on are in the table; an error that ends a connection has its own.",
    "reconnected_in_vain": "After a close code from 4500 on a client does not connect again.",
    # Turns and the log.
    "message_sequence_gap": "A live entry has the number after the newest one.",
    "turn_not_started": "Frames of a turn come after its turn.started.",
    "turn_started_wrongly": "A new turn has a greater id than all before, and the message that is next; only an open one goes on.",
    "turn_overlaps": "One turn runs at a time.",
    "complete_twice": "A turn has one assistant.complete.",
    "wrong_complete": "assistant.complete says where the log stands, and what came of the turn.",
    "wrong_words": "A user.message says what its client sent, or replaced it with.",
    "after_complete": "After a turn's assistant.complete only its background work speaks.",
    # Blocks.
    "wrong_block": "A block keeps its type, id and index, and has chunk_seq or message_sequence.",
    "chunk_gap": "`chunk_seq` counts the pieces of a block: 1, 2, 3, ...",
    "snapshot_missing": "On a new connection a block that grows begins with its snapshot.",
    "snapshot_differs": "A snapshot holds all pieces so far, and reaches at least as far as they.",
    "piece_after_finish": "A finished block does not grow.",
    "block_finished_twice": "A block is finished once, and its id names no other.",
    "block_left_open": "Every block has been finished or discarded when its turn ends.",
    "discarded_not_growing": "Only blocks that grow are discarded.",
    # Tools, questions and permissions.
    "question_as_tool_call": "A question comes as assistant.request_input, not as a tool call.",
    "progress_out_of_place": "A tool's progress comes between its call and its result.",
    "result_without_call": "A tool result answers a call or a question.",
    "result_twice": "A tool call has one result.",
    "result_missing": "The agent's calls have their results when the turn ends.",
    "result_while_waiting": "A call that waits for a person has no result before it is resolved.",
    "unknown_parent": "parent_tool_use_id names a call that was made.",
    "permission_without_call": "A permission is asked for a call that was made and has no result.",
    "question_without_call": "An announced question is asked by a call that has no result.",
    "request_twice": "A request is opened once.",
    "resolved_not_open": "Only an open request is resolved, and only once.",
    "wrong_resolution": "A request ends as it was answered, and expires at its deadline.",
    "request_left_open": "A turn that waits for an answer has not ended.",
    # Clients and their answers.
    "bad_command": "A frame of a client is of a known type and has no field that is not known.",
    "answer_without_command": "An ack or a refusal answers a frame that was sent.",
    "unanswered": "Every frame of a client gets an answer.",
    "wrong_answer": "An ack is of the frame's type, has what that asks for, and fits the state.",
    "wrong_refusal": "A refusal has the code that fits the frame and the state.",
    "not_offered": "Only what capabilities.commands lists is accepted.",
    "too_large": "No frame over max_frame_bytes is accepted.",
    "wrong_duplicate": "A repeat gets its first answer again, marked; another content a refusal.",
    "answer_after_effect": "An ack comes before the frames that its command causes.",
    "wrong_error": "An error has a known code, and what the table says of it.",
    # The state.
    "state_missing": "A session.state follows what has changed it, before anything else happens.",
    "wrong_state": "session.state agrees with itself and with the frames before it.",
    "wrong_requests": "session.state lists exactly the requests that are open, the oldest first.",
    "wrong_queue": "session.state lists what waits, in order; at most max_queue.",
}
"""Every rule by the code of its violation."""


class SessionReport(Struct, frozen=True, gc=False):
    """What was in a recorded session. `lines` is always `typed` + `unknown` + `errors`."""

    lines: int
    typed: int  # lines understood to the last known field
    unknown: int  # frames of a type that is not known
    errors: int  # lines that are neither frames nor say who connects, speaks or closes
    connections: int
    client_frames: int
    server_frames: int
    entries: int  # of the log, each counted once
    turns: int
    tools: int  # tool calls and questions
    unknown_kinds: dict[str, int]  # how often, by name
    violation_count: int
    violations: list[Violation]  # the first of them


class SessionCheck:
    """Feed it every line of a recording, in order, then `finish` and read the `report`.

    Several connections are one client that comes back.
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

    # --- in and out ---------------------------------------------------------------------------

    def feed(self, raw: bytes, number: int) -> None:
        """One line more."""
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
        """A line that could not be read."""
        self._lines += 1
        self._errors += 1
        self._line = bad.line
        self._say("bad_line", bad.detail)

    def finish(self) -> None:
        """The recording is over. A client that is still there should have its answers."""
        if self._connection is not None:
            self._answers.ended(in_order=True)

    def report(self) -> SessionReport:
        """All there is to say about the lines so far."""
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
            self._say("bad_line", f"no address of a conversation: {text}")
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
            self._say("not_connected", "a frame of the client")
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
    """Whether a bare frame begins a connection: who joins frames to a file writes no `close`."""
    is_hello = value["type"] in ("session.connected", "session.resumed")
    return is_hello and connection.stage != "hello"
