"""The recorded sessions of protocol v2, for tests that read them or break them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from turnwire.dialects.v2.validator.check import SessionCheck, SessionReport

FOLDER = Path(__file__).parents[4] / "fixtures" / "v2"
PATHS = sorted(FOLDER.glob("*.jsonl"))

Frame = dict[str, Any]


def check(lines: list[Frame] | list[bytes]) -> SessionReport:
    """Returns the report of the validator about these lines."""
    checked = SessionCheck()
    for number, line in enumerate(lines, 1):
        checked.feed(line if isinstance(line, bytes) else json.dumps(line).encode(), number)
    checked.finish()
    return checked.report()


class Session:
    """A recorded session that tests change by small edits."""

    def __init__(self, name: str) -> None:
        (path,) = FOLDER.glob(f"{name}*.jsonl")
        self.lines: list[Frame] = [json.loads(line) for line in path.read_bytes().splitlines()]

    # --- finding ------------------------------------------------------------------------------

    def place(self, kind: str, nth: int = 0, *, side: str = "server") -> int:
        """The place of a frame of this type, or of a `connect` or `close` line."""
        found = [
            place
            for place, line in enumerate(self.lines)
            if kind in line or line.get(side, {}).get("type") == kind
        ]
        return found[nth]

    def frame(self, kind: str, nth: int = 0) -> Frame:
        """A frame of the server."""
        frame: Frame = self.lines[self.place(kind, nth)]["server"]
        return frame

    def payload(self, kind: str, nth: int = 0) -> Frame:
        """The payload of a frame of the server."""
        payload: Frame = self.frame(kind, nth)["payload"]
        return payload

    def client(self, kind: str, nth: int = 0) -> Frame:
        """A frame of the client."""
        frame: Frame = self.lines[self.place(kind, nth, side="client")]["client"]
        return frame

    # --- changing -----------------------------------------------------------------------------

    def drop(self, kind: str, nth: int = 0, *, side: str = "server") -> None:
        """Leave a line out."""
        del self.lines[self.place(kind, nth, side=side)]

    def again(self, kind: str, nth: int = 0, *, later: int = 1, side: str = "server") -> Frame:
        """Say a frame once more, some lines later; the copy may then be changed."""
        place = self.place(kind, nth, side=side)
        copy = deepcopy(self.lines[place])
        self.lines.insert(place + later, copy)
        frame: Frame = copy[side]
        return frame

    def move(self, kind: str, nth: int = 0, *, by: int) -> None:
        """Say a frame earlier or later."""
        place = self.place(kind, nth)
        line = self.lines.pop(place)
        self.lines.insert(place + by, line)

    def cut(self, kind: str, nth: int = 0, *, side: str = "server") -> None:
        """End the recording before a frame."""
        del self.lines[self.place(kind, nth, side=side) :]

    def _servers(self) -> Iterator[Frame]:
        return (line["server"] for line in self.lines if "server" in line)

    def number_frames(self) -> None:
        """Count the frames of each connection again."""
        sequence = 0
        for line in self.lines:
            if "connect" in line:
                sequence = 0
            elif "server" in line:
                sequence += 1
                line["server"]["sequence"] = sequence

    def number_log(self) -> None:
        """Count the entries of a log that was empty at first again."""
        newest = 0
        numbers: dict[str, int] = {}  # of requests
        for frame in self._servers():
            payload = frame["payload"]
            if payload.get("message_sequence") is not None:
                newest += 1
                payload["message_sequence"] = newest
                numbers[payload.get("request_id") or payload.get("question_id")] = newest
            elif frame["type"] == "assistant.complete":
                payload["after_sequence"] = newest
            elif frame["type"] == "session.state":
                for request in payload["requests"]:
                    request["message_sequence"] = numbers[request["request_id"]]
        self.tell_ends()

    def end(self, nth: int = 0, **changes: Any) -> None:
        """Let a turn end in another way, and the states after it tell the same."""
        self.payload("assistant.complete", nth).update(changes)
        self.tell_ends()

    def tell_ends(self) -> None:
        """Let every state tell the last turn as it ended."""
        ends: dict[int, Frame] = {}
        for frame in self._servers():
            if frame["type"] == "assistant.complete":
                ends[frame["turn_id"]] = frame["payload"]
            elif frame["type"] == "session.state" and "last_turn" in frame["payload"]:
                last = frame["payload"]["last_turn_id"]
                frame["payload"]["last_turn"] = ends.get(last, frame["payload"]["last_turn"])

    def broken(self) -> set[str]:
        """The rules that it breaks now."""
        return {violation.code for violation in check(self.lines).violations}


# --- breaking them ---------------------------------------------------------------------------

Edit = Callable[[Session], None]


class Case(NamedTuple):
    """An edit, and the rule that it breaks in a session."""

    code: str
    session: str
    edit: Edit
    counted: bool


CASES: list[Case] = []


def breaks(code: str, session: str, *, counted: bool = True) -> Callable[[Edit], Edit]:
    """The edit breaks this rule of this session, and no other; then frames are counted again."""

    def note(edit: Edit) -> Edit:
        CASES.append(Case(code, session, edit, counted))
        return edit

    return note
