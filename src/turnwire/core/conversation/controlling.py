"""What people ask of the agent beside the talk: it answers later, and the log tells what it changed."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core.controls import Control, McpToggle, RewindFiles, Rewound, StopTask, name_of
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack, AskAgent
from turnwire.core.conversation.turns import is_suspended
from turnwire.core.error_codes import Refused

__all__ = ["controlled", "controls"]


def controls(d: Draft, asked: i.Controls) -> None:
    """It is written down who asks, and the agent is asked. Whoever asks is answered when it has."""
    control = asked.control
    if is_suspended(d):
        raise Refused(
            "AGENT_UNAVAILABLE",
            "The agent sleeps until its question is answered. Answer it, or stop the turn, first.",
        )
    match control:
        case RewindFiles(dry_run=False) if d.turn is not None:
            said = (
                "A turn runs, and may change the same files. Stop it, or wait for its end, first."
            )
            raise Refused("AGENT_UNAVAILABLE", said, turn_id=d.turn.turn_id)
        case StopTask(task_id=task_id) if all(t.task_id != task_id for t in d.background):
            raise Refused("INVALID_PAYLOAD", f"Nothing called {task_id!r} works in the background.")
        case _:
            pass
    d.audit(name_of(control), asked.by, **_particulars(control))
    d.commands.append(AskAgent(asked.control_id, control))


def controlled(d: Draft, ended: i.Controlled) -> None:
    """The agent has answered. Files that were put back are an entry: the log itself is never cut."""
    control = ended.control
    if ended.code is not None:
        why = {"code": ended.code, "message": ended.message}
        d.audit("control_failed", ended.by, control=name_of(control), **why)
        return
    if isinstance(control, RewindFiles):
        result = ended.result if isinstance(ended.result, Rewound) else Rewound([])
        if not control.dry_run:
            failed = {"failed": result.failed} if result.failed else {}
            data = {"message_sequence": control.message_sequence, "files": result.files, **failed}
            d.add_event("rewind", _told(result), None, {**data, "by": ended.by})
        d.ack = Ack(files=result.files, failed=result.failed or None)
        return
    if isinstance(control, McpToggle):
        others = [name for name in d.mcp_off if name != control.server]
        d.mcp_off = others if control.enabled else [*others, control.server]
    d.ack = Ack(result=ended.result)


def _told(result: Rewound) -> str:
    """Only what has happened, and what has not."""
    if not result.files and not result.failed:
        return "No file had to be put back"
    done = [f"Put back: {', '.join(result.files)}"] if result.files else []
    failed = [f"Could not be put back: {', '.join(result.failed)}"] if result.failed else []
    return ". ".join([*done, *failed])


def _particulars(control: Control) -> dict[str, Any]:
    """What was asked for, without its name."""
    fields: dict[str, Any] = msgspec.to_builtins(control)
    return {name: value for name, value in fields.items() if name not in ("control", "turn_uuid")}
