"""A sub-agent of the demo, whose events name the tool call that started it."""

from __future__ import annotations

from turnwire.agents.demo.message import Message
from turnwire.agents.demo.turn import Stopped, Turn, told_of
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock

__all__ = ["helper_works"]


async def helper_works(
    turn: Turn, call: str, task: str, description: str, texts: tuple[str, str, str]
) -> str:
    """Plays a sub-agent and returns its report.

    `texts` names its first text, the output of its command and its report. An interrupt ends the
    sub-agent and gives the tool call that started it an error as result.
    """
    starts, printed, report = (turn.text(name) for name in texts)
    known = ev.Task(task, call, "local_agent", description)
    turn.task_began(known)
    whose = turn.whose(call)
    prompt = turn.text("helper_prompt")
    turn.say(
        ev.UserMessage(*whose, [TextBlock(prompt, "completed")], "agent", turn.new_id("prompt"))
    )
    try:
        async with Message(turn, call) as message:
            await message.text(starts)
            command = await message.call("Bash", {"command": "wc -w notes.txt"})
        await turn.output(command, printed, call)
        turn.result(command, printed, parent=call)
        turn.news("task_progress", told_of(known), ephemeral=True)
        async with Message(turn, call) as message:
            await message.text(report)
    except Stopped:
        ended = turn.text("interrupted")
        turn.task_ended(known, "stopped", ended)
        turn.result(call, ended, error=True)
        raise
    turn.task_ended(known, "completed", report)
    return report
