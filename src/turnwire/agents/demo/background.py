"""The scene `background`: a task that continues after its turn, can be stopped and is reported."""

from __future__ import annotations

import asyncio

from msgspec import structs

from turnwire.agents.demo.message import Message
from turnwire.agents.demo.turn import Stopped, Turn, told_of
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock

__all__ = ["background"]

_LASTS = 40  # pieces


async def background(turn: Turn) -> None:
    """Starts the background task and ends the scene without waiting for the task."""
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
    search = _Search(turn, ev.Task(task, call, "local_agent", description), call)
    turn.task_began(search.task, in_background=True)
    turn.host.works[task] = search
    _tell_tasks(turn)
    turn.result(call, turn.text("background_started", task=task))
    turn.host.afterwards(search.run)
    async with Message(turn) as message:
        await message.text(turn.text("after_background"))


class _Search:
    """A sub-agent that works after its turn. An interrupt of a turn does not stop it."""

    def __init__(self, turn: Turn, task: ev.Task, call: str) -> None:
        self.task = task
        self._turn = Turn(turn.host, structs.replace(turn.place, turn=f"{turn.place.turn}b"))
        self._call = call
        self._is_begun = False
        self._over = asyncio.Event()

    async def run(self) -> bool:
        """Runs the task. Returns False if it was stopped, True if its end has to be reported."""
        if self._turn.stop.is_set():
            return False
        self._is_begun = True
        try:
            self._end("completed", await self._find())
        except Stopped:
            self._end("stopped", self._turn.text("interrupted"))
            return False
        finally:
            self._over.set()  # also if the session is closed
        return True

    async def stop(self) -> None:
        """Stops the task and waits for its end. Also works before the task has begun."""
        self._turn.stop.set()
        if self._is_begun:
            await self._over.wait()
        else:
            self._end("stopped", self._turn.text("interrupted"))

    async def _find(self) -> str:
        turn, call = self._turn, self._call
        prompt = TextBlock(turn.text("background_prompt"), "completed")
        turn.say(ev.UserMessage(*turn.whose(call), [prompt], "agent", turn.new_id("prompt")))
        async with Message(turn, call) as message:
            await message.text(turn.text("background_looks"))
        for _ in range(_LASTS):
            await turn.pause()
        report = turn.text("background_report")
        async with Message(turn, call) as message:
            await message.text(report)
        return report

    def _end(self, status: str, summary: str) -> None:
        self._turn.task_ended(self.task, status, summary)
        del self._turn.host.works[self.task.task_id]
        _tell_tasks(self._turn)


def _tell_tasks(turn: Turn) -> None:
    """Emits the list of all running background tasks of the session."""
    tasks = [work.task for work in turn.host.works.values()]
    told = {"tasks": [{**told_of(task), "task_type": task.kind} for task in tasks]}
    turn.news("background_tasks_changed", told, ev.TasksListed, ephemeral=True, tasks=tasks)
