#!/usr/bin/env python3
"""An app-server that only starts. The files of its CODEX_HOME say how, and get what happened.

It ends `fails` times with an exit code. With `gate` it notes a start that is not alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

HOME = Path(os.environ["CODEX_HOME"])


def note(name: str) -> int:
    """Adds a line to a file. Returns how many it had."""
    with (HOME / name).open("a+") as file:
        file.seek(0)
        before = len(file.readlines())
        file.write("x\n")
    return before


def main() -> None:
    started = note("started")
    fails = HOME / "fails"
    if fails.exists() and started < int(fails.read_text()):
        sys.stderr.write("x" * 5000 + "\nno database\n\x1b[31mkey sk-proj-" + "a1B2" * 10 + "\n")
        sys.exit(3)
    gate = HOME / "gate"
    is_first = not (HOME / "ready").exists()
    try:
        gate.touch(exist_ok=False)
    except FileExistsError:
        note("overlaps" if is_first else "later")
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            gate.unlink(missing_ok=True)
            note("ready")
        if "id" in message:
            thread = {"thread": {"id": f"thread-{os.getpid()}", "path": None}}
            print(json.dumps({"id": message["id"], "result": thread}), flush=True)


if __name__ == "__main__":
    main()
