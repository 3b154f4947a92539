"""A program that plays a recording of Claude Code: writes its lines, and waits where it waited."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # it is started for every recording, and has to start fast
    from typing import Any, TypeAlias

    Frame: TypeAlias = dict[str, Any]


def kind(frame: Frame) -> tuple[str, ...]:
    """Returns the properties by which a line of the host is compared with a recorded one."""
    match frame["type"]:
        case "control_request":
            return "request", frame["request"]["subtype"]
        case "control_response":
            return "response", frame["response"]["request_id"]
        case other:
            return (other,)


def main() -> None:
    names: dict[str, str] = {}  # by the name in the recording: the present name
    waiting: list[Frame] = []
    greeted = False

    def wait_for(wanted: tuple[str, ...]) -> Frame:
        while not (found := [frame for frame in waiting if kind(frame) == wanted]):
            line = sys.stdin.readline()
            if not line:
                sys.exit(0)
            waiting.append(json.loads(line))
        waiting.remove(found[0])
        return found[0]

    with open(os.environ["CLAUDE_TAPE"], encoding="utf-8") as tape:  # noqa: PTH123  # starts fast
        for entry in map(json.loads, tape):
            frame = entry["msg"]
            if entry["dir"] == "out":
                greeted = greeted or frame["type"] == "control_response"
                line = json.dumps(frame)
                for before, now in names.items():
                    line = line.replace(before, now)
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
                continue
            heard = wait_for(kind(frame))
            for name in ("request_id", "uuid"):
                if frame.get(name):
                    names[frame[name]] = heard[name]
    if not greeted:  # it would not even begin
        sys.exit(1)
    sys.stdin.read()


if __name__ == "__main__":
    main()
