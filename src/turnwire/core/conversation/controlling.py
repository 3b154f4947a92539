"""Controls that a person asks of the agent, independent of turns, and their results."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from turnwire.core.controls import (
    Control,
    McpToggle,
    RewindFiles,
    Rewound,
    SetSessionOption,
    StopTask,
    name_of,
)
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack, AskAgent
from turnwire.core.conversation.state import Offered
from turnwire.core.conversation.turns import is_suspended
from turnwire.core.error_codes import Refused

__all__ = ["controlled", "controls"]


def controls(d: Draft, asked: i.Controls) -> None:
    """Audits the control and asks the agent. The client is answered when the agent has answered."""
    control = asked.control
    if is_suspended(d):
        raise Refused(
            "AGENT_UNAVAILABLE",
            "The agent is not running while a question is open. Answer it or stop the turn first.",
        )
    match control:
        case RewindFiles(dry_run=False) if d.turn is not None:
            said = "A running turn may change the same files. Stop it, or wait for its end, first."
            raise Refused("AGENT_UNAVAILABLE", said, turn_id=d.turn.turn_id)
        case StopTask(task_id=task_id) if all(t.task_id != task_id for t in d.background):
            raise Refused("INVALID_PAYLOAD", f"There is no background task {task_id!r}.")
        case _:
            pass
    d.audit(name_of(control), asked.by, **_particulars(control))
    d.commands.append(AskAgent(asked.control_id, control))


def controlled(d: Draft, ended: i.Controlled) -> None:
    """Handles the agent's reply.

    Restored files are logged as an entry; the log itself is never cut.
    """
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
    if isinstance(control, SetSessionOption):
        known, change = d.offered or Offered(), {control.option: control.value}
        options, chosen = known.options | change, known.chosen | change
        d.offered = structs.replace(known, options=options, chosen=chosen)
    d.ack = Ack(result=ended.result)


def _told(result: Rewound) -> str:
    """Returns the text of the log entry: the files that were restored, and those that were not."""
    if not result.files and not result.failed:
        return "No file had to be put back"
    done = [f"Put back: {', '.join(result.files)}"] if result.files else []
    failed = [f"Could not be put back: {', '.join(result.failed)}"] if result.failed else []
    return ". ".join([*done, *failed])


def _particulars(control: Control) -> dict[str, Any]:
    """Returns the fields of a control without its name."""
    fields: dict[str, Any] = msgspec.to_builtins(control)
    return {name: value for name, value in fields.items() if name not in ("control", "turn_uuid")}
