"""Work that outlives its turn, and the turn that nobody asked for, which reports it."""

from __future__ import annotations

from msgspec import structs

from turnwire.agents.demo.message import Message
from turnwire.agents.demo.turn import Turn
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock

__all__ = ["background"]

_LASTS = 40  # pieces


async def background(turn: Turn) -> None:
    """Start it, and go on."""
    description = turn.text("background_task")
    arguments = {
        "description": description,
        "prompt": turn.text("background_prompt"),
        "subagent_type": "helper",
        "run_in_background": True,
    }
    async with Message(turn) as message:
        await message.text(turn.text("before_background"))
        call = await message.call("Agent", arguments)
    task = turn.new_id("task")
    known = {"task_id": task, "tool_use_id": call, "description": description}
    running = {**known, "task_type": "local_agent"}
    turn.news("task_started", {**running, "is_backgrounded": True})
    turn.host.tasks[task] = running
    _tell_tasks(turn)
    turn.result(call, turn.text("background_started", task=task))

    async def work() -> None:
        await _work(Turn(turn.host, structs.replace(turn.place, turn=f"{turn.place.turn}b")), known)

    turn.host.afterwards(work)
    async with Message(turn) as message:
        await message.text(turn.text("after_background"))


async def _work(turn: Turn, known: dict[str, str]) -> None:
    """A helper's voice after its turn. Nobody can interrupt it; it ends with the session."""
    call = known["tool_use_id"]
    whose = turn.whose(call)
    prompt = TextBlock(turn.text("background_prompt"), "completed")
    turn.say(ev.UserMessage(*whose, [prompt], "agent", turn.new_id("prompt")))
    async with Message(turn, call) as message:
        await message.text(turn.text("background_looks"))
    for _ in range(_LASTS):
        await turn.pause()
    report = turn.text("background_report")
    async with Message(turn, call) as message:
        await message.text(report)
    turn.news("task_notification", {**known, "status": "completed", "summary": report})
    del turn.host.tasks[known["task_id"]]
    _tell_tasks(turn)


def _tell_tasks(turn: Turn) -> None:
    """All that run, whichever turn began them."""
    tasks = [*turn.host.tasks.values()]
    turn.news("background_tasks_changed", {"tasks": tasks}, ephemeral=True)
