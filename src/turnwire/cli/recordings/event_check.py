"""What the checks of recorded event streams have in common: lines, counts and the report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from turnwire.cli.recordings.recording import Recording
from turnwire.cli.terminal.progress import with_progress
from turnwire.core.violations import Violations
from turnwire.dialects.claude.check import OpenTool, StreamReport
from turnwire.errors import BadLine

__all__ = ["EventCheck"]

_NO_DATA = (b"id:", b"event:", b"retry:", b":")


class EventCheck(ABC):
    """Checks a recording line by line. A line is a JSON object with a `type`, or one of SSE."""

    bad_code: ClassVar[str]  # the code of a line that is no event
    unknown_code: ClassVar[str]  # the code of a type that is not known
    not_ended_code: ClassVar[str]  # the code of a stream that the recording does not end
    end_mark: ClassVar[bytes] = b""  # data after the last event that is no event

    def __init__(self) -> None:
        self._violations = Violations()
        self._kinds: Counter[str] = Counter()
        self._lines = self._unknown = self._errors = 0
        self._blocks = 0
        self._is_begun = self._is_ended = False

    @abstractmethod
    def _event(self, event: dict[str, Any], kind: str, number: int) -> None:
        """Checks an event of this type."""

    @abstractmethod
    def _counts(self) -> tuple[int, int, Sequence[OpenTool]]:
        """Returns the number of messages and of tool calls, and the calls without a result."""

    def run(self, recording: Recording) -> StreamReport:
        """Checks a whole recording."""
        last = 0
        for batch in with_progress(recording, recording.raw_batches()):
            for line in batch:
                if isinstance(line, BadLine):
                    last = line.line
                    self._note_bad(line.detail, last)
                else:
                    last = line.number
                    self._line(line.raw, last)
        if self._is_begun and not self._is_ended:
            self._violations.add(self.not_ended_code, last, "the recording ends before it")
        messages, tools, left = self._counts()
        return StreamReport(
            self._lines,
            self._lines - self._unknown - self._errors,
            self._unknown,
            self._errors,
            messages,
            self._blocks,
            tools,
            0,
            dict(self._kinds),
            list(left),
            self._violations.count,
            self._violations.in_order(),
        )

    def _line(self, raw: bytes, number: int) -> None:
        data = b"" if raw.startswith(_NO_DATA) else raw.removeprefix(b"data:").strip()
        if data in (b"", self.end_mark):
            return
        self._lines += 1
        try:
            event = msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            self._note_bad(f"not JSON: {error}", number)
            return
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            self._note_bad("not an object with a `type`", number)
            return
        self._event(event, event["type"], number)

    def _note_bad(self, detail: str, number: int) -> None:
        self._errors += 1
        self._violations.add(self.bad_code, number, detail)

    def _note_unknown(self, kind: str, number: int) -> None:
        self._unknown += 1
        self._kinds[kind] += 1
        self._violations.add(self.unknown_code, number, kind)
