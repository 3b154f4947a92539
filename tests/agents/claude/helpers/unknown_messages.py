"""A program that speaks like Claude Code and sends messages that no known version sends."""

from __future__ import annotations

import json
import sys

SESSION = "a0000000-0000-4000-8000-000000000000"


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({**message, "session_id": SESSION}) + "\n")


def turn(text: str) -> None:
    say({"type": "system", "subtype": "init", "claude_code_version": "99.0.0", "model": "m"})
    sys.stdout.write("[debug] this is no JSON\n")
    say({"type": "hologram", "uuid": "h-1", "depth": 3})
    say({"type": "system", "subtype": "mood_changed", "mood": "good", "uuid": "m-1"})
    blocks = [{"type": "aroma", "notes": ["pine"]}, {"type": "text", "text": text}]
    message = {"id": "msg_1", "role": "assistant", "model": "m", "content": blocks}
    say({"type": "assistant", "message": message, "parent_tool_use_id": None, "uuid": "a-1"})
    say({"type": "result", "subtype": "success", "is_error": False, "uuid": "r-1", "glow": 7})


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "control_request":
        answer = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
        say({"type": "control_response", "response": answer})
    elif frame["type"] == "control_response":  # the result of the dialog
        turn(json.dumps(frame["response"]))
    elif "dialog" in str(frame):
        dialog = {"subtype": "request_user_dialog", "dialog_kind": "mirror", "payload": {}}
        say({"type": "control_request", "request_id": "d-1", "request": dialog})
    elif frame["type"] == "user":
        turn("x" * 3_000_000 if "long" in str(frame) else "Hello from the future.")
    sys.stdout.flush()
