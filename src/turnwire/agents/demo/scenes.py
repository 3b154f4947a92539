"""The scenes of the demo, one function each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from turnwire.agents.client_tools import ClientTool, client_call
from turnwire.agents.demo.background import background
from turnwire.agents.demo.helper import helper_works
from turnwire.agents.demo.message import Message
from turnwire.agents.demo.turn import Failed, Turn
from turnwire.core import events as ev
from turnwire.core.blocks import TodoItem
from turnwire.core.conversation.state import Reply
from turnwire.core.questions import questions_of

__all__ = ["play", "play_answered"]

_DELETE = {"command": "rm -r build", "description": "Delete the folder build"}


async def play(turn: Turn) -> None:
    """Plays the scenes of this turn, starting at its place."""
    scenes = turn.place.scenes
    first = turn.place.position
    for position in range(first, len(scenes)):
        turn.place = msgspec.structs.replace(turn.place, position=position)
        await _SCENES[scenes[position]](turn)
        await _hear_more(turn)
    if len(scenes) > 1:
        await _speak(turn, turn.text("done"))
        await _hear_more(turn)


async def _hear_more(turn: Turn) -> None:
    """Answers the messages that were sent into this turn meanwhile."""
    while (said := turn.take_message()) is not None:
        await _speak(turn, turn.text("you_said", said=" ".join(said.split())[:200]).strip())


async def play_answered(turn: Turn, reply: Reply) -> None:
    """Plays the rest of a turn whose question was asked by an earlier process."""
    take = _take_result if turn.place.scene == "client_tool" else _take_answer
    await take(turn, reply.request_id, reply)
    turn.place = msgspec.structs.replace(turn.place, position=turn.place.position + 1)
    await play(turn)


async def _speak(turn: Turn, text: str) -> None:
    async with Message(turn) as message:
        await message.text(text)


async def _answer(turn: Turn) -> None:
    said = " ".join(turn.prompt.split())[:200]
    await _speak(turn, turn.text("hello") + (turn.text("you_said", said=said) if said else ""))


async def _help(turn: Turn) -> None:
    await _speak(turn, turn.text("hello"))


async def _think(turn: Turn) -> None:
    async with Message(turn) as message:
        await message.thinking(turn.text("thinking"))
        await message.text(turn.text("after_thinking"))


async def _tool(turn: Turn) -> None:
    arguments = {"command": "ls -l", "description": turn.text("tool_description")}
    async with Message(turn) as message:
        await message.text(turn.text("before_tool"))
        call = await message.call("Bash", arguments)
    printed = turn.text("tool_output")
    if turn.host.options.die:
        await turn.output(call, printed.splitlines(keepends=True)[0])
        await turn.host.perish()
    await turn.output(call, printed)
    turn.result(call, printed)
    await _speak(turn, turn.text("after_tool"))


async def _question(turn: Turn) -> None:
    await _ask(turn, _which_colour(turn))


async def _form(turn: Turn) -> None:
    """Asks several optional questions at once."""
    sizes = [{"label": turn.text(name)} for name in ("small", "large")]
    which_sizes = {
        "question": turn.text("question_sizes"),
        "header": turn.text("question_sizes_header"),
        "options": sizes,
        "multiSelect": True,
    }
    await _ask(turn, {"questions": [_which_colour(turn), which_sizes], "required": False})


def _which_colour(turn: Turn) -> dict[str, Any]:
    return {
        "question": turn.text("question"),
        "header": turn.text("question_header"),
        "options": [
            {"label": turn.text(name), "description": turn.text(f"{name}_why")}
            for name in ("red", "green", "blue")
        ],
    }


async def _ask(turn: Turn, arguments: dict[str, Any]) -> None:
    async with Message(turn) as message:
        await message.text(turn.text("before_question"))
        call = turn.new_question_id()  # made last: a resumed turn continues to count from it
        await message.call("request_input", arguments, id=call)
    asked = ev.QuestionAsked(
        *turn.whose(), f"{call}_ask", call, "request_input", questions_of(arguments), arguments
    )
    await _take_answer(turn, call, await turn.ask(asked, reply_to=call))


async def _take_answer(turn: Turn, call: str, reply: Reply) -> None:
    answer = words_of(reply.answer)
    turn.result(call, turn.text("answered", answer=answer))
    await _speak(turn, turn.text("after_question" if answer else "after_nothing", answer=answer))


def words_of(answer: Any) -> str:
    """Returns an answer as text: the values of an object, the items of a list."""
    match answer:
        case str():
            return answer
        case dict():
            return ", ".join(filter(None, map(words_of, answer.values())))
        case list():
            return ", ".join(filter(None, map(words_of, answer)))
        case _:
            return msgspec.json.encode(answer).decode()


async def _client_tool(turn: Turn) -> None:
    """Calls a tool of the front end: the one that the prompt names, else the first."""
    tools = turn.host.options.client_tools
    if not tools:
        await _speak(turn, turn.text("no_client_tools"))
        return
    tool = next((each for each in tools if each.name in turn.prompt), tools[0])
    async with Message(turn) as message:
        await message.text(turn.text("before_client_tool", tool=tool.name))
        call = turn.new_question_id()  # made last: a resumed turn continues to count from it
        await message.call(tool.name, _example_of(tool), id=call)
    asked = client_call(turn.whose(), call, tool.name, request=f"{call}_ask")
    await _take_result(turn, call, await turn.ask(asked, reply_to=call))


async def _take_result(turn: Turn, call: str, reply: Reply) -> None:
    result = words_of(reply.answer)
    turn.result(call, result)
    await _speak(turn, turn.text("after_client_tool", result=result))


def _example_of(tool: ClientTool) -> dict[str, Any]:
    """Returns an input for a tool: a value for each of its parameters."""
    known = (tool.parameters or {}).get("properties")
    found: dict[str, Any] = {}
    for name, schema in known.items() if isinstance(known, dict) else ():
        about = schema if isinstance(schema, dict) else {}
        match about:
            case {"enum": [first, *_]}:
                found[name] = first
            case {"type": "number" | "integer"}:
                found[name] = 1
            case {"type": "boolean"}:
                found[name] = True
            case {"type": "array"}:
                found[name] = []
            case {"type": "object"}:
                found[name] = {}
            case _:
                found[name] = "blue"
    return found


async def _permission(turn: Turn) -> None:
    async with Message(turn) as message:
        await message.text(turn.text("before_permission"))
        call = await message.call("Bash", _DELETE)
    arguments: Any = _DELETE
    if not turn.host.may_delete:
        rule = {"toolName": "Bash", "ruleContent": _DELETE["command"]}
        request = ev.PermissionRequested(
            *turn.whose(),
            request_id=f"{call}_ask",
            tool_use_id=call,
            tool_name="Bash",
            input=_DELETE,
            title=turn.text("permission_title"),
            description=turn.text("permission_description"),
            suggestions=[
                {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
            ],
            reason=turn.text("permission_reason"),
        )
        reply = await turn.ask(request, reply_to=request.request_id)
        if reply.decision != "allow":
            reason = reply.reason or turn.text("no_reason")
            turn.result(call, turn.text("denied_result", reason=reason), error=True)
            await _speak(turn, turn.text("denied"))
            return
        turn.host.may_delete = bool(reply.remember)
        if reply.updated_input is not None:
            arguments = reply.updated_input
    command = arguments.get("command") if isinstance(arguments, dict) else arguments
    printed = turn.text("deleting") if arguments == _DELETE else f"$ {command}\n"
    await turn.output(call, printed)
    turn.result(call, printed)
    await _speak(turn, turn.text("allowed", command=command))


async def _plan(turn: Turn) -> None:
    await _speak(turn, turn.text("before_plan"))
    for done in range(4):
        items = [_step(turn, number, done) for number in range(1, 4)]
        todos = [
            {"content": item.content, "status": item.status, "activeForm": item.active_form}
            for item in items
        ]
        async with Message(turn) as message:
            call = await message.call("TodoWrite", {"todos": todos})
        turn.result(call, turn.text("plan_saved"))
        turn.say(ev.PlanUpdated(*turn.whose(), items))
    await _speak(turn, turn.text("after_plan"))


def _step(turn: Turn, number: int, done: int) -> TodoItem:
    status = "completed" if number <= done else "in_progress" if number == done + 1 else "pending"
    name = f"step_{number}"
    return TodoItem(turn.text(name), status, str(number), turn.text(f"{name}_active"))


async def _subagent(turn: Turn) -> None:
    task = turn.text("helper_task")
    arguments = {
        "description": task,
        "prompt": turn.text("helper_prompt"),
        "subagent_type": "helper",
    }
    async with Message(turn) as message:
        await message.text(turn.text("before_subagent"))
        call = await message.call("Agent", arguments)
    report = await helper_works(
        turn, call, turn.new_id("task"), task, ("helper_starts", "helper_output", "helper_report")
    )
    turn.result(call, report)
    await _speak(turn, turn.text("after_subagent"))


async def _long(turn: Turn) -> None:
    parts = [turn.text("long_part", number=number) for number in range(1, 31)]
    await _speak(turn, "\n\n".join([turn.text("long_title"), *parts]))


async def _error(turn: Turn) -> None:
    async with Message(turn) as message:
        await message.begin(turn.text("before_error"))
        message.abandon()
        raise Failed("demo_error", turn.text("error"))


_SCENES: dict[str, Callable[[Turn], Awaitable[None]]] = {
    "answer": _answer,
    "help": _help,
    "think": _think,
    "tool": _tool,
    "plan": _plan,
    "subagent": _subagent,
    "question": _question,
    "form": _form,
    "permission": _permission,
    "client_tool": _client_tool,
    "background": background,
    "long": _long,
    "error": _error,
}
