"""Checks the messages and deltas of a recorded stream against the rules of their contract."""

from __future__ import annotations

from turnwire.cli.recordings.runs import Runs
from turnwire.core import assembler
from turnwire.core.assembler import Assembler, RunLedger, check_message
from turnwire.core.deltas import DeltaStream
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message_deltas import DoneDelta, ErrorDelta, MessageDelta, UnknownDelta
from turnwire.core.violations import Violation

__all__ = ["CONTRACT_RULES", "ContractCheck"]

# A call without a result is allowed: people interrupt turns, and recordings end early.
CONTRACT_RULES = {
    f"contract_{code}": rule for code, rule in assembler.RULES.items() if code != "no_tool_result"
}
"""All rules, by the code of the violation."""


class ContractCheck:
    """Translates events into deltas and entries, assembles the deltas and checks both."""

    def __init__(self) -> None:
        self._runs = Runs()
        self._deltas = DeltaStream()
        self._entries = EntryStream()
        self._open: dict[str | None, Assembler] = {}  # by message
        self._ledger = RunLedger("")

    def feed(self, events: list[NormalizedStreamEvent], line: int) -> list[Violation]:
        """Takes the events of a line. Returns their violations."""
        broken: list[assembler.Violation] = []
        for event in events:
            run = self._runs.of(event)
            for delta in self._deltas.feed(event, run_id=run, now=self._runs.now):
                broken += self._assemble(delta)
            for entry in self._entries.feed(event, run_id=run, now=self._runs.now):
                if entry.run_id != self._ledger.run_id:
                    self._ledger = RunLedger(entry.run_id)
                broken += [*check_message(entry), *self._ledger.add(entry)]
        return [_told(each, line) for each in broken]

    def finish(self, line: int) -> list[Violation]:
        """Ends the recording. Assembles the streams that have no end, and returns their violations."""
        broken: list[assembler.Violation] = []
        for delta in self._deltas.finish(now=self._runs.now):
            broken += self._assemble(delta)
        for left in self._open.values():
            broken += left.finish().violations
        return [_told(each, line) for each in broken]

    def _assemble(self, delta: MessageDelta) -> list[assembler.Violation]:
        message_id = None if isinstance(delta, UnknownDelta) else delta.payload.message_id
        stream = self._open.setdefault(message_id, Assembler())
        stream.feed(delta)
        if not isinstance(delta, DoneDelta | ErrorDelta):
            return []
        del self._open[message_id]
        return stream.finish().violations


def _told(violation: assembler.Violation, line: int) -> Violation:
    return Violation(f"contract_{violation.code}", line, violation.detail)
