"""Assembles deltas into messages, and checks the rules of the contract, each with a code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from turnwire.core import message as m
from turnwire.core import message_deltas as d
from turnwire.core.grouping import kept
from turnwire.core.message import (
    KeptBlock,
    Message,
    MessagePart,
    TokenUsage,
    ToolCallPart,
    ToolResultPart,
    meta_of,
    parse_arguments,
)
from turnwire.core.message_deltas import ErrorDeltaPayload, MessageDelta
from turnwire.errors import TurnwireError

__all__ = [
    "RULES",
    "Assembled",
    "Assembler",
    "ContractBroken",
    "RunLedger",
    "Violation",
    "ViolationCode",
    "check_message",
]

ViolationCode: TypeAlias = Literal[
    "start_not_first",
    "second_start",
    "no_end",
    "second_end",
    "after_end",
    "seq_not_from_one",
    "seq_not_increasing",
    "wrong_run",
    "wrong_message",
    "unknown_kind",
    "second_usage",
    "unknown_tool_call",
    "duplicate_tool_call_id",
    "args_after_end",
    "second_tool_call_end",
    "tool_call_not_ended",
    "role_forbids_part",
    "untraceable_tool_result",
    "second_tool_result",
    "no_tool_result",
]

RULES = {
    "start_not_first": "The first delta of a stream is start.",
    "second_start": "A stream has one start.",
    "no_end": "A stream ends with done or error.",
    "second_end": "A stream ends once: one done or one error.",
    "after_end": "Nothing follows done or error.",
    "seq_not_from_one": "The first seq of a stream is 1.",
    "seq_not_increasing": "In one stream seq strictly increases.",
    "wrong_run": "All deltas of a stream, and all messages of a run, have the same runId.",
    "wrong_message": "All deltas of a stream that name a messageId name the same one.",
    "unknown_kind": "The kinds of deltas and their fields are fixed; new ones need a new version.",
    "second_usage": "A stream has at most one usage, which is the whole message's.",
    "unknown_tool_call": "tool_call_args and tool_call_end name a call that tool_call_start began.",
    "duplicate_tool_call_id": "A toolCallId is unique in its run.",
    "args_after_end": "A tool call's arguments come before its tool_call_end.",
    "second_tool_call_end": "A tool call ends once.",
    "tool_call_not_ended": "Every tool call has ended before done.",
    "role_forbids_part": "A message has only the kinds of parts that its role allows.",
    "untraceable_tool_result": "A tool_result answers a tool_call that came before it in its run.",
    "second_tool_result": "A tool call has one terminal tool_result.",
    "no_tool_result": "Every tool call gets its tool_result before its run is over.",
}


class Violation(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A violated rule, and its position."""

    code: ViolationCode
    rule: str  # the text of the rule
    detail: str  # the actual finding
    seq: int | None = None  # of the delta
    delta: MessageDelta | None = None  # the delta that broke it; null if one is missing
    tool_call_id: str | None = None  # the tool call, if the rule is about one


class ContractBroken(TurnwireError):
    """The violation that a strict reader raises."""

    code = "CONTRACT_BROKEN"

    def __init__(self, violation: Violation) -> None:
        place = "" if violation.seq is None else f" (seq {violation.seq})"
        said = f"{violation.code}{place}: {violation.detail}. {violation.rule}"
        super().__init__(said, rule=violation.code, seq=violation.seq)
        self.violation = violation


class Assembled(Struct, frozen=True, omit_defaults=True):
    """The result of a stream of deltas."""

    message: Message | None  # null after an error, or if the stream was empty
    violations: list[Violation]
    error: ErrorDeltaPayload | None = None  # why there is no message


class _Book:
    """Collects violations, or raises them if strict."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self.violations: list[Violation] = []

    def broken(
        self,
        code: ViolationCode,
        detail: str,
        delta: MessageDelta | None = None,
        tool_call_id: str | None = None,
    ) -> None:
        seq = _seq(delta) if delta is not None else None
        violation = Violation(code, RULES[code], detail, seq, delta, tool_call_id)
        self.violations.append(violation)
        if self._strict:
            raise ContractBroken(violation)


def _seq(delta: MessageDelta) -> int | None:
    if not isinstance(delta, d.UnknownDelta):
        return delta.seq
    seq = delta.data.get("seq") if isinstance(delta.data, dict) else None
    return seq if isinstance(seq, int) else None


# --- one stream -------------------------------------------------------------------------------


class _Growing:
    """A part while it grows."""

    __slots__ = ("citations", "ended", "final", "index", "kind", "pieces", "redacted", "signature")
    kind: str

    def __init__(self, kind: str, index: int | None) -> None:
        self.kind = kind
        self.index = index
        self.pieces: list[str] = []
        self.citations: list[Any] | None = None
        self.signature: str | None = None
        self.redacted: str | None = None
        self.ended = False
        self.final: dict[str, Any] | None = None  # arguments as the agent changed them


class _Call(_Growing):
    """A tool call while it grows."""

    __slots__ = ("start",)

    def __init__(self, start: d.ToolCallStartDeltaPayload) -> None:
        super().__init__("tool_call", start.index)
        self.start = start


class Assembler:
    """Assembles one stream of deltas. Feed it every delta, in order, then call `finish`.

    A delta that breaks a rule is reported, and left out if it cannot be used. The rest of the
    stream is read as well as possible. A strict assembler raises ContractBroken instead.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._book = _Book(strict)
        self._run: str | None = None
        self._message_id: str | None = None
        self._last_seq: int | None = None
        self._timestamp = ""
        self._start: d.StartDeltaPayload | None = None
        self._usage: d.UsageDeltaPayload | None = None
        self._done: d.DoneDeltaPayload | None = None
        self._error: ErrorDeltaPayload | None = None
        self._fed = False
        self._assembled: Assembled | None = None
        self._parts: list[_Growing] = []
        self._calls: dict[str, _Call] = {}
        self._by_index: dict[tuple[int, str], _Growing] = {}
        self._unknown: list[Any] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            d.StartDelta: self._on_start,
            d.TextDelta: self._on_text,
            d.ThinkingDelta: self._on_thinking,
            d.ToolCallStartDelta: self._on_call,
            d.ToolCallArgsDelta: self._on_args,
            d.ToolCallEndDelta: self._on_call_end,
            d.UsageDelta: self._on_usage,
            d.DoneDelta: self._on_done,
            d.ErrorDelta: self._on_error,
        }

    def feed(self, delta: MessageDelta) -> list[Violation]:
        """Takes the next delta. Returns the violations that it caused."""
        before = len(self._book.violations)
        if isinstance(delta, d.UnknownDelta):
            self._book.broken("unknown_kind", f"the kind {delta.original_type!r} is unknown", delta)
            self._unknown.append(delta.data)
        elif self._belongs(delta):
            self._timestamp = delta.timestamp
            self._handlers[type(delta)](delta)
        return self._book.violations[before:]

    def finish(self) -> Assembled:
        """Ends the stream. Returns its result."""
        if self._assembled is None:
            self._assembled = self._finish()
        return self._assembled

    def _finish(self) -> Assembled:
        if self._error is not None:
            return Assembled(None, self._book.violations, self._error)
        if self._done is None:
            self._book.broken("no_end", "the stream stopped in the middle")
            if not self._fed:
                return Assembled(None, self._book.violations)
        return Assembled(self._message(), self._book.violations)

    # --- the rules of every delta -------------------------------------------------------------

    def _belongs(self, delta: Any) -> bool:
        """Returns whether a delta is the next one of this stream.

        A foreign or repeated delta is left out.
        """
        broken, message_id = self._book.broken, delta.payload.message_id
        if self._run is None:
            self._run = delta.run_id
        elif delta.run_id != self._run:
            broken("wrong_run", f"{delta.run_id!r} in a stream of {self._run!r}", delta)
            return False
        if message_id is not None:
            if self._message_id is None:
                self._message_id = message_id
            elif message_id != self._message_id:
                broken("wrong_message", f"{message_id!r} instead of {self._message_id!r}", delta)
                return False
        if self._last_seq is None:
            if delta.seq != 1:
                broken("seq_not_from_one", f"the stream begins with seq {delta.seq}", delta)
        elif delta.seq <= self._last_seq:
            broken("seq_not_increasing", f"seq {delta.seq} after {self._last_seq}", delta)
            return False
        self._last_seq = delta.seq
        if self._done is not None or self._error is not None:
            again = isinstance(delta, d.DoneDelta | d.ErrorDelta)
            broken("second_end" if again else "after_end", "the stream has ended", delta)
            return False
        if not self._fed and not isinstance(delta, d.StartDelta):
            broken("start_not_first", "the stream begins with something else", delta)
        elif self._fed and isinstance(delta, d.StartDelta):
            broken("second_start", "the stream has started", delta)
            return False
        self._fed = True
        return True

    # --- the kinds of deltas --------------------------------------------------------------------

    def _on_start(self, delta: d.StartDelta) -> None:
        self._start = delta.payload

    def _on_text(self, delta: d.TextDelta) -> None:
        payload = delta.payload
        part = self._part("text", payload.index)
        part.pieces.append(payload.text_delta)
        if payload.citations:
            part.citations = [*(part.citations or ()), *payload.citations]

    def _on_thinking(self, delta: d.ThinkingDelta) -> None:
        payload = delta.payload
        part = self._part("thinking", payload.index)
        part.pieces.append(payload.text_delta)
        part.signature = payload.signature or part.signature
        part.redacted = payload.redacted or part.redacted

    def _part(self, kind: str, index: int | None) -> _Growing:
        """Returns the part of a piece: by its index, or the last part if it has no index."""
        if index is not None:
            part = self._by_index.get((index, kind))
            if part is None:
                part = self._by_index[index, kind] = _Growing(kind, index)
                self._parts.append(part)
            return part
        if self._parts and self._parts[-1].kind == kind and self._parts[-1].index is None:
            return self._parts[-1]
        part = _Growing(kind, None)
        self._parts.append(part)
        return part

    def _on_call(self, delta: d.ToolCallStartDelta) -> None:
        call_id = delta.payload.tool_call_id
        if call_id in self._calls:
            detail = f"{call_id!r} has started before"
            self._book.broken("duplicate_tool_call_id", detail, delta, call_id)
            return
        call = self._calls[call_id] = _Call(delta.payload)
        self._parts.append(call)

    def _on_args(self, delta: d.ToolCallArgsDelta) -> None:
        call = self._call(delta, delta.payload.tool_call_id)
        if call is None:
            return
        if call.ended:
            call_id = call.start.tool_call_id
            self._book.broken("args_after_end", f"{call_id!r} has ended", delta, call_id)
            return
        call.pieces.append(delta.payload.args_text_delta)

    def _on_call_end(self, delta: d.ToolCallEndDelta) -> None:
        call = self._call(delta, delta.payload.tool_call_id)
        if call is None:
            return
        if call.ended:
            call_id = call.start.tool_call_id
            self._book.broken("second_tool_call_end", f"{call_id!r} has ended", delta, call_id)
            return
        call.ended = True
        call.final = delta.payload.arguments

    def _call(self, delta: MessageDelta, call_id: str) -> _Call | None:
        call = self._calls.get(call_id)
        if call is None:
            self._book.broken("unknown_tool_call", f"{call_id!r} never started", delta, call_id)
        return call

    def _on_usage(self, delta: d.UsageDelta) -> None:
        if self._usage is not None:
            self._book.broken("second_usage", "the stream has a usage already", delta)
        self._usage = delta.payload  # the last one is the most complete

    def _on_done(self, delta: d.DoneDelta) -> None:
        self._done = delta.payload
        for call_id, call in self._calls.items():
            if not call.ended and not self._is_void(call):
                detail = f"{call_id!r} has not ended"
                self._book.broken("tool_call_not_ended", detail, delta, call_id)

    def _on_error(self, delta: d.ErrorDelta) -> None:
        self._error = delta.payload

    # --- the message --------------------------------------------------------------------------

    def _is_void(self, part: _Growing) -> bool:
        void_from = self._done.discarded_from if self._done else None
        return void_from is not None and part.index is not None and part.index >= void_from

    def _message(self) -> Message:
        run, start, done = self._run or "", self._start, self._done
        broken: list[str] = []
        placed: list[tuple[int | None, MessagePart | KeptBlock]] = [
            (growing.index, _finished(growing, broken))
            for growing in self._parts
            if not self._is_void(growing)
        ]
        if done and done.blocks:
            placed += [(block.position, block) for block in done.blocks]
        # The index is a block's position; a stream without indexes is in order already.
        if all(index is not None for index, _ in placed):
            placed.sort(key=lambda pair: pair[0] or 0)
        parts, rest = kept(item for _, item in placed)
        meta = meta_of(
            run,
            message_id=self._message_id,
            blocks=rest or None,
            provider=start.provider if start else None,
            parent_tool_use_id=start.parent_tool_use_id if start else None,
            agent_id=start.agent_id if start else None,
            model_id=start.model_id if start else None,
            request_id=start.request_id if start else None,
            finish_reason=done.finish_reason if done else None,
            usage=_usage(self._usage) if self._usage else None,
            args_not_json=broken or None,
            error=done.error if done else None,
            aborted=done.aborted if done else False,
            incomplete=done is None,
            unknown_deltas=[*self._unknown] or None,
        )
        return Message(run, "assistant", parts, self._timestamp, meta)


def _finished(growing: _Growing, broken: list[str]) -> MessagePart:
    text = "".join(growing.pieces)
    if isinstance(growing, _Call):
        start, raw = growing.start, None
        arguments = growing.final
        if arguments is None:
            arguments = parse_arguments(text)
        if arguments is None:
            arguments, raw = {}, text
            broken.append(start.tool_call_id)
        about = (start.tool_call_id, start.tool_name, arguments, raw, start.tool_type)
        return ToolCallPart(m.ToolCallPayload(*about, asks=start.asks))
    if growing.kind == "text":
        return m.TextPart(m.TextPayload(text, growing.citations))
    return m.ThinkingPart(m.ThinkingPayload(text, growing.signature, growing.redacted))


def _usage(told: d.UsageDeltaPayload) -> TokenUsage:
    return TokenUsage(
        told.input_tokens,
        told.output_tokens,
        told.total_tokens,
        told.cache_read_tokens,
        told.cache_write_tokens,
        told.cost,
    )


# --- one message, and one run -----------------------------------------------------------------


def check_message(message: Message, *, strict: bool = False) -> list[Violation]:
    """Returns the parts of a message that its role does not allow, as violations."""
    book = _Book(strict)
    allowed = m.ROLE_PARTS[message.role]
    for position, part in enumerate(message.parts):
        if type(part) not in allowed:
            kind = part.__struct_config__.tag
            book.broken(
                "role_forbids_part", f"part {position} of a {message.role} message is {kind}"
            )
    return book.violations


class RunLedger:
    """Tracks the tool calls of one run over all its messages or entries."""

    def __init__(self, run_id: str, *, strict: bool = False) -> None:
        self.run_id = run_id
        self._book = _Book(strict)
        self._answered: dict[str, bool] = {}  # call -> whether it has its result

    @property
    def open_calls(self) -> list[str]:
        """Returns the tool calls without a result."""
        return [call_id for call_id, answered in self._answered.items() if not answered]

    def add(self, message: Message) -> list[Violation]:
        """Takes the next message or entry. Returns the violations that it caused."""
        before = len(self._book.violations)
        if message.run_id != self.run_id:
            self._book.broken("wrong_run", f"{message.run_id!r} in the run {self.run_id!r}")
            return self._book.violations[before:]
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                self._called(part.payload.tool_call_id)
            elif isinstance(part, ToolResultPart):
                self._result(part.payload.tool_call_id)
        return self._book.violations[before:]

    def finish(self) -> list[Violation]:
        """Ends the run. Returns all violations, including calls without a result."""
        for call_id in self.open_calls:
            detail = f"{call_id!r} has no result"
            self._book.broken("no_tool_result", detail, tool_call_id=call_id)
        return self._book.violations

    def _called(self, call_id: str) -> None:
        if call_id in self._answered:
            detail = f"{call_id!r} has been called before"
            self._book.broken("duplicate_tool_call_id", detail, tool_call_id=call_id)
            return
        self._answered[call_id] = False

    def _result(self, call_id: str) -> None:
        answered = self._answered.get(call_id)
        if answered is None:
            detail = f"no tool call {call_id!r} precedes it"
            self._book.broken("untraceable_tool_result", detail, tool_call_id=call_id)
        elif answered:
            detail = f"{call_id!r} has its result"
            self._book.broken("second_tool_result", detail, tool_call_id=call_id)
        else:
            self._answered[call_id] = True
