"""An agent that plays the golden transcripts, for a server in its own process.

A conversation names a transcript by its option `transcript`. Where the transcript's client sends a frame in
the middle of a turn, the agent waits until the test has sent it: a file tells the agent.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from tests.helpers.recorded_streams import FIXTURES
from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of
from turnwire.ports import AgentCapabilities, AgentSession, SessionStart

Frame = dict[str, Any]
TRANSCRIPTS = sorted(path.stem for path in (FIXTURES / "v2").glob("*.jsonl"))
GATES = "GOLDEN_GATES"  # the directory in which the files are
_PLAYED = ("assistant.", "conversation.interrupted", "session.system_event", "turn.started")
_NOT_THE_AGENTS = ("agent", "model", "rewind")
_BY_THE_ENGINE = ("expired", "cancelled")


def lines_of(transcript: str) -> list[Frame]:
    path = FIXTURES / "v2" / f"{transcript}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def turns_of(transcript: str) -> list[list[tuple[int, Frame]]]:
    """Of each turn, and of what follows it, what the agent says, with the number of the client's
    frames before it.
    """
    turns: list[list[tuple[int, Frame]]] = []
    said = 0
    for line in lines_of(transcript):
        said += "client" in line
        frame = line.get("server", {})
        kind = frame.get("type", "")
        if kind == "turn.started" and frame["payload"]["origin"] != "resume":
            turns.append([])
        if turns and kind.startswith(_PLAYED):
            turns[-1].append((said, frame))
    return turns


class Golden:
    """Plays the agent's side of a transcript."""

    name = "golden"
    capabilities = AgentCapabilities(
        commands=["session.set_model", "session.set_permission_mode"],
        models=["claude-sonnet-4-5", "claude-haiku-4-5"],
        permission_modes=["default", "acceptEdits", "plan"],
        options=["transcript"],
        questions_survive=True,
        images=True,
    )

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        played = int((start.native_session_id or "0").removeprefix("golden:"))
        gates = Path(os.environ[GATES]) / start.conversation_id
        return GoldenSession(turns_of(start.options["transcript"]), played, gates)


class GoldenSession(LocalSession):
    def __init__(self, turns: list[list[tuple[int, Frame]]], played: int, gates: Path) -> None:
        super().__init__()
        self._turns = turns
        self._played = played
        self._gates = gates
        self._answered = asyncio.Event()
        self._stopped = asyncio.Event()
        self._growing: set[tuple[str, int | None]] = set()

    @property
    def native_session_id(self) -> str | None:
        return f"golden:{self._played}"

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        self._check_open()
        self._start(self._play())

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        self._answered.set()

    async def choose(self, **_: Any) -> None:
        pass

    async def interrupt(self) -> None:
        self._stopped.set()

    async def _play(self) -> None:
        """Plays the next turn, and the turns after it that have no prompt."""
        while self._played < len(self._turns):
            turn = self._turns[self._played]
            self._played += 1
            self._stopped.clear()
            interrupted = any(f["type"] == "conversation.interrupted" for _, f in turn)
            expires = any(f["payload"].get("outcome") in _BY_THE_ENGINE for _, f in turn)
            for said, frame in turn:
                if interrupted or expires:
                    if self._is_the_engines(frame, turn, said):
                        await self._stopped.wait()
                        self._say(*_end(frame, interrupted=True))
                        break
                else:
                    await self._until_said(said)
                await self._step(frame, expires=expires)
            follows = self._turns[self._played : self._played + 1]
            if not follows or follows[0][0][1]["payload"]["origin"] != "agent":
                return

    def _is_the_engines(self, frame: Frame, turn: list[tuple[int, Frame]], said: int) -> bool:
        """Returns whether this event was caused by a stop or a deadline."""
        if any(f["type"] == "conversation.interrupted" for _, f in turn):
            return said > turn[0][0] and said == next(
                n for n, f in turn if f["type"] == "conversation.interrupted"
            )
        kind: str = frame["type"]
        return kind == "assistant.request_resolved"

    async def _until_said(self, number: int) -> None:
        while not (self._gates / str(number)).exists():  # noqa: ASYNC110  # in another process
            await asyncio.sleep(0.005)

    async def _step(self, frame: Frame, *, expires: bool) -> None:
        payload = frame["payload"]
        self._say(*self._events(frame["type"], payload))
        await self._let_read(0)
        if frame["type"] in ("assistant.request_input", "assistant.permission_request"):
            if not expires:
                await self._answered.wait()
            self._answered.clear()
        elif frame["type"] == "assistant.complete":
            self._say(*_end(frame))

    def _events(self, kind: str, p: Frame) -> list[NormalizedStreamEvent]:
        who = ("golden", "golden", p.get("parent_tool_use_id"), p.get("agent_id"))
        match kind:
            case "turn.started":
                return [ev.TurnStarted(*who)] if p["origin"] != "resume" else []
            case "assistant.chunk" | "assistant.thinking" if p.get("snapshot"):
                return []
            case "assistant.chunk" | "assistant.thinking":
                is_text = kind == "assistant.chunk"
                made = TextBlock if is_text else ThinkingBlock
                message, index, text = p["message_id"], p["index"], p["text"]
                if not p.get("partial"):
                    whole = made(text, "completed")
                    return [ev.AssistantMessage(*who, message, index, [whole])]
                grows = "text" if is_text else "thinking"
                more = ev.ContentDelta(*who, message, index, grows, text)  # type: ignore[arg-type]
                started: list[NormalizedStreamEvent] = []
                if (message, None) not in self._growing:
                    started.append(ev.MessageStarted(*who, message))
                if (message, index) not in self._growing:
                    started.append(ev.ContentStarted(*who, message, index, made("", "in_progress")))
                self._growing |= {(message, None), (message, index)}
                return [*started, more]
            case "assistant.discarded":
                message = str(p["block_ids"][0]).rpartition(":")[0]
                self._growing = {each for each in self._growing if each[0] != message}
                return [ev.MessageDiscarded(*who, message, 0, "abandoned")]
            case "assistant.tool_call" | "assistant.request_input" if not p.get("partial"):
                call = p.get("tool_use_id") or p["question_id"]
                given = p.get("input", {})
                block = ToolUseBlock(call, p["tool_name"], "OTHER", given, "completed")
                said = ev.AssistantMessage(*who, p["message_id"], p["index"], [block])
                if kind == "assistant.tool_call":
                    return [said]
                asked = ev.QuestionAsked(*who, call, call, p["tool_name"], questions_of(given))
                return [said, asked]
            case "assistant.permission_request":
                about = (p["request_id"], p["tool_use_id"], p["tool_name"], p["input"])
                return [ev.PermissionRequested(*who, *about, suggestions=p.get("suggestions", []))]
            case "assistant.tool_result":
                wrong = bool(p.get("is_error"))
                result = ToolResultBlock(p["tool_use_id"], p["content"], wrong, "completed")
                return [ev.UserMessage(*who, [result], "tool")]
            case "session.system_event" if p["subtype"] not in _NOT_THE_AGENTS:
                data = Raw(msgspec.json.encode({"type": "system", **p.get("data", {})}))
                lasts = p.get("message_sequence") is not None
                return [_news((*who, p["subtype"], data, not lasts), p.get("data", {}))]
            case _:
                return []


def _news(told: tuple[Any, ...], data: Frame) -> NormalizedStreamEvent:
    """Returns the event of a notice: those about tasks are typed, all others are passed on."""
    about = (data.get("tool_use_id"), data.get("task_type"), data.get("description"))
    match told[4]:
        case "task_started" | "task_updated":
            in_background = data.get("is_backgrounded") is True
            task = ev.Task(data["task_id"], *about)
            return ev.TaskChanged(*told, task=task, in_background=in_background)
        case "task_notification":
            return ev.TaskEnded(*told, task=ev.Task(data["task_id"], *about))
        case _:
            return ev.SystemEvent(*told)


def _end(frame: Frame, *, interrupted: bool = False) -> list[NormalizedStreamEvent]:
    who = ("golden", "golden", None, None)
    stop_reason = frame["payload"].get("stop_reason")
    summary = ev.ResultSummary(*who, "success", False, 1000)
    return [ev.TurnCompleted(*who, stop_reason, interrupted), summary]
