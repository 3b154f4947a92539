"""The exceptions of Turnwire, which are also returned where raising would end a stream.

TurnwireError
├── BadLine          a line of an agent's stream that is not a JSON object
├── UnreadableInput  a file that cannot be read at all
├── Unreachable      a server that does not answer (turnwire.client)
├── Refused          a refused command, with an error code of the protocol
│                    (turnwire.core.error_codes)
└── ContractBroken   a delta stream that breaks a rule, raised by a strict reader
                     (turnwire.core.assembler)
"""

from __future__ import annotations

from typing import Any

__all__ = ["BadLine", "TurnwireError", "UnreadableInput"]


class TurnwireError(Exception):
    """The base class. `code` is for programs, `message` for people; `data` has the details.

    `what_to_do` is the next step; it is empty if the message says it.
    """

    code = "INTERNAL_ERROR"
    retryable = False
    what_to_do = ""

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data


class BadLine(TurnwireError):
    """One line that is not a JSON object. Reading continues with the next line.

    `reason` is one of invalid_json, invalid_utf8, not_an_object, too_deep, too_long, truncated. In
    a recorded session it may also be no_frame: an object that is neither a frame nor about one.
    """

    code = "INVALID_FORMAT"

    def __init__(self, reason: str, detail: str, *, line: int, raw: bytes) -> None:
        super().__init__(f"line {line}: {detail}", reason=reason, line=line)
        self.reason = reason
        self.detail = detail
        self.line = line
        self.raw = raw


class UnreadableInput(TurnwireError):
    """A source that cannot be opened or read; the message says what to do next."""

    code = "UNREADABLE_INPUT"
