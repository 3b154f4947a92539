"""Lines of a recording, made by hand."""

from __future__ import annotations

from typing import Any

Line = dict[str, Any]
INIT = {"type": "system", "subtype": "init", "session_id": "s"}


def heard(frame: Line) -> Line:
    """Returns a line that the program writes."""
    return {"dir": "out", "msg": frame}


def asked_of_it(subtype: str, answer: Line) -> list[Line]:
    """Returns a request of the host and its answer."""
    request = {"type": "control_request", "request_id": subtype, "request": {"subtype": subtype}}
    response = {"subtype": "success", "request_id": subtype, "response": answer}
    return [
        {"dir": "in", "msg": request},
        heard({"type": "control_response", "response": response}),
    ]


PROMPT = {"dir": "in", "msg": {"type": "user", "uuid": "the-prompt"}}
