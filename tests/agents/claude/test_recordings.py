"""Recordings of the real Claude Code, made by the other tests of this folder and played without it.

The agent is the real one; the program is a player of the recording. The host must send the recorded
lines again, word for word, and the events of the program's lines must be in order. All recordings go
through an engine as well, also those that continue a question in another process: log,
frames and view are checked as with the real program.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from tests.agents.claude.helpers.fake_programs import player
from tests.agents.claude.helpers.log_checks import check_log, check_view, later_view
from tests.agents.claude.helpers.real_claude import programs
from tests.agents.helpers.processes import wait_until_gone
from tests.agents.helpers.session_driver import talking
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.process.transport import GuardedTransport
from turnwire.agents.claude.session import ClaudeSession
from turnwire.core import events as ev
from turnwire.core.content import Content, ImageContent, TextContent
from turnwire.core.conversation.rules import all_for_session, says_what_it_allows
from turnwire.core.conversation.state import Options, Reply
from turnwire.core.view import BlockView, TextView, View
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.ports import AgentGone, AgentSession, SessionStart
from turnwire.stores.sqlite import SqliteStore

Frame = dict[str, Any]
RECORDED = sorted((Path(__file__).parents[3] / "fixtures" / "claude_live").glob("*.io.jsonl"))
TAPES = [path for path in RECORDED if '"control_response"' in path.read_text()]
REFUSED = [path for path in RECORDED if path not in TAPES]  # the program would not start
IN_WORDS = "You had asked me something before you were interrupted. My answer: "
# Recordings that need no earlier one: an engine can begin with them.
WHOLE = [
    path
    for path in TAPES
    if IN_WORDS not in (text := path.read_text()) and '"session_state": "running"' not in text
]
# The others, each after the recordings that it needs.
LATER = [path for path in TAPES if path not in WHOLE]
# The process that asked had a server of its own, which was killed: another one asked the same.
_ASKED = "a_question_is_answered_when_its_process_is_gone"
_LOST = "a_question_whose_process_was_lost_while_it_was_held_is_answered_in_words"
_KILLED = "the_server_is_killed_at_a_question_and_the_answer_is_that_tools_result"
FIRST = {
    f"{_KILLED}_AskUserQuestion_1": f"{_ASKED}_AskUserQuestion_1",
    f"{_KILLED}_request_input_1": f"{_ASKED}_request_input_1",
    "the_server_is_killed_while_a_question_is_held_and_the_answer_goes_in_words_1": f"{_LOST}_1",
}
SECONDS = 180.0


class Tape:
    """A recording, and facts derived from it."""

    def __init__(self, path: Path) -> None:
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        self.entries: list[tuple[str, Frame]] = [(e["dir"], e["msg"]) for e in entries]
        self.said = [frame for direction, frame in self.entries if direction == "in"]
        self.heard = [frame for direction, frame in self.entries if direction == "out"]
        self.asked = {
            frame["request_id"]: frame["request"]
            for frame in self.heard
            if frame["type"] == "control_request"
        }
        greeting = [f["response"] for f in self.heard if f["type"] == "control_response"]
        about = greeting[0]["response"] if greeting else {}
        self.resumes = about.get("session_state") == "running"
        self.defers = any("defer" in json.dumps(frame) for frame in self.said)
        self.hopeless = any(frame.get("error") == "authentication_failed" for frame in self.heard)
        self.calls = tuple(
            str(request.get("tool_use_id"))
            for request in self.asked.values()
            if request["subtype"] == "hook_callback"
        )

    def answer_to(self, call: str, answered: Frame) -> Any:
        """Returns the answer of a person, which the hook or the tool has."""
        answers = answered.get("updatedInput", {}).get("answers")
        if answers is not None:
            return answers
        for frame in self.said:
            request = self.asked.get(frame.get("response", {}).get("request_id"), {})
            if call in json.dumps(request.get("message", {})):
                said = frame["response"]["response"]["mcp_response"]["result"]
                return said["content"][0]["text"]
        raise AssertionError(f"{call} has no answer")


class Host:
    """Repeats the recorded calls of a session."""

    has_begun = True  # an engine begins when there is something to say

    def __init__(self, tape: Tape, session: Any) -> None:
        self.tape = tape
        self.session = session
        self.resumed = tape.resumes  # no answer has come yet
        self.forgets = False  # an interrupt is the session's own
        self.turns = 0
        self.tasks: list[asyncio.Task[None]] = []

    async def do(self, frame: Frame, following: list[Frame]) -> None:
        """Makes the call that caused this line; `following` are the lines after it."""
        match frame:
            case {"type": "user", "message": {"content": str(text)}} if text.startswith(IN_WORDS):
                reply = Reply("ask_1", "question", text.removeprefix(IN_WORDS))
                await self._deliver(reply, resumed=True)
            case {"type": "user"} if self.forgets:
                self.forgets = False
            case {"type": "user", "message": {"content": content}}:
                await self._prompt(content)
            case {"type": "control_response", "response": {"request_id": name, "response": said}}:
                await self._respond(self.tape.asked[name], name, said)
            case {"request": {"subtype": "interrupt"}} if self.resumed:
                prompt = next(f for f in following if f["type"] == "user")
                self.resumed, self.forgets = False, True
                await self._prompt(prompt["message"]["content"])
            case {"request": {"subtype": "interrupt"}} if not self.tape.hopeless:
                await self._begin(self._interrupt())
            case {"request": {"subtype": "set_model", "model": model}}:
                await self._begin(self._choose(model, None))
            case {"request": {"subtype": "set_permission_mode", "mode": mode}}:
                await self._begin(self._choose(None, mode))
            case _:
                pass  # the handshake, and answers of the session itself

    async def _prompt(self, content: Any) -> None:
        blocks: list[Frame] = content
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        said: list[Content] = [
            TextContent(block["text"])
            if block["type"] == "text"
            else ImageContent(block["source"]["media_type"], block["source"]["data"])
            for block in blocks
        ]
        await self._prompted(said)

    async def _prompted(self, said: list[Content]) -> None:
        self.turns += 1
        await self.session.prompt(said, turn_uuid=f"tape:{self.turns}")

    async def _deliver(self, reply: Reply, *, resumed: bool) -> None:
        await self.session.deliver([reply], resumed=resumed)

    async def _interrupt(self) -> None:
        await self.session.interrupt()

    async def _choose(self, model: str | None, permission_mode: str | None) -> None:
        await self.session.choose(model=model, permission_mode=permission_mode)

    async def _respond(self, asked: Frame, name: str, said: Frame) -> None:
        if asked["subtype"] == "can_use_tool":
            allowed = said["behavior"] == "allow"
            reply = Reply(
                name,
                "permission",
                decision="allow" if allowed else "deny",
                reason=said.get("message"),
                updated_input=said.get("updatedInput"),
                remember=said.get("updatedPermissions", []),
            )
            await self._deliver(reply, resumed=False)
        elif asked["subtype"] == "hook_callback":
            decision = said["hookSpecificOutput"]
            call = asked["tool_use_id"]
            if decision["permissionDecision"] == "allow":
                reply = Reply(call, "question", self.tape.answer_to(call, decision))
                resumed, self.resumed = self.resumed, False
                await self._deliver(reply, resumed=resumed)
            elif "one question at a time" not in str(decision):
                why = decision.get("permissionDecisionReason")
                reply = Reply(call, "question", decision="deny", reason=why)
                if decision["permissionDecision"] == "deny":
                    await self._deliver(reply, resumed=False)

    async def _begin(self, work: Any) -> None:
        """Starts a call without waiting for its result."""
        self.tasks.append(asyncio.create_task(work))
        await asyncio.sleep(0)


def canonical(frames: list[Frame]) -> list[str]:
    """What was said, without the names that are new each time, whatever the order.

    How our own tool is described may change, and which tools the gate names; that both exist may not.
    Rules that name what they allow are applied by Turnwire now: the program no longer gets them.
    """
    kept: list[str] = []
    for frame in frames:
        if '"tools": [' in json.dumps(frame):
            kept.append("our tool")
            continue
        without = {k: v for k, v in frame.items() if k not in ("uuid", "session_id")}
        if frame["type"] == "control_request":
            without.pop("request_id")
        given = frame.get("response", {}).get("response") or {}
        if isinstance(given, dict) and "updatedPermissions" in given:
            narrowed = all_for_session(given["updatedPermissions"])
            rules = [each for each in narrowed if not says_what_it_allows(each)]
            given = {**given, "updatedPermissions": rules}
            without["response"] = {**frame["response"], "response": given}
        said = json.dumps(without, sort_keys=True)
        kept.append(re.sub('"matcher": "[^"]+"', '"matcher": "our gate"', said))
    return sorted(kept)


def name_of(path: Path) -> str:
    return path.name.removesuffix(".io.jsonl")


class Counter:
    """Counts the lines in both directions, so that the host knows when to act."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begin()
        self._news = asyncio.Event()
        hear, send = ClaudeSession._heard, GuardedTransport.send

        def counting(session: ClaudeSession, lines: list[bytes]) -> list[bytes]:
            try:
                return hear(session, lines)
            finally:
                self.heard += len(lines)
                self._news.set()

        def counting_sent(transport: GuardedTransport, line: bytes) -> None:
            send(transport, line)
            self.said += 1
            self._news.set()

        monkeypatch.setattr(ClaudeSession, "_heard", counting)
        monkeypatch.setattr(GuardedTransport, "send", counting_sent)

    def begin(self) -> None:
        """Begins with the first line of a process."""
        self.heard = self.said = 0

    async def until(self, heard: int, said: int = 0) -> None:
        async with asyncio.timeout(SECONDS):
            while self.heard < heard or self.said < said:
                self._news.clear()
                await self._news.wait()


def agent_of(tape: Tape, path: Path, place: Path) -> ClaudeAgent:
    return ClaudeAgent(
        {},
        titles=False,
        env={"CLAUDE_TAPE": str(path), "ANTHROPIC_API_KEY": "sk-tape"},
        cli_path=player(place),
        hold=0.0 if tape.defers else 60.0,
        record=place / "again",
        models=["claude-opus-4-5"],
    )


async def play(tape: Tape, host: Host, counter: Counter) -> None:
    heard = said_before = 0
    for number, (direction, frame) in enumerate(tape.entries):
        if direction == "out":
            heard += 1
            continue
        if number:  # the first is the handshake
            if host.has_begun:
                await counter.until(heard)
            following = [f for d, f in tape.entries[number + 1 :] if d == "in"]
            await host.do(frame, following)
            if (
                host.tasks
            ):  # a task does not wait for the output, and the next line may be its answer
                await counter.until(heard, said_before + 1)
        said_before += 1
    await counter.until(heard)
    for task in host.tasks:  # an interrupt without an answer is one of them
        task.cancel()
    await asyncio.gather(*host.tasks, return_exceptions=True)


@pytest.mark.parametrize("path", TAPES, ids=name_of)
async def test_a_recording_is_played_again(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape(path)
    counter = Counter(monkeypatch)
    name = "recorded" if tape.resumes else None
    agent = agent_of(tape, path, tmp_path)
    async with talking(agent, name, known_calls=tape.calls, cwd=str(tmp_path)) as ear:
        await play(tape, Host(tape, ear.session), counter)
        ends = sum(frame["type"] == "result" for frame in tape.heard)
        ended = [e for e in ear.events if isinstance(e, ev.TurnCompleted | ev.TurnFailed)]
        assert len(ended) in (ends, ends - 1), "a turn that was taken back is not told"
        [again] = (tmp_path / "again").iterdir()
        said = Tape(again).said
    assert canonical(said) == canonical(tape.said)


class Person(Host):
    """Plays the person's side through an engine, reacting to frames."""

    has_begun = False

    def __init__(self, tape: Tape, talk: Talk, seen: Watcher) -> None:
        super().__init__(tape, None)
        self.talk = talk
        self.seen = seen

    async def _prompted(self, said: list[Content]) -> None:
        self.has_begun = True
        turn_id = (await self.talk.status()).turn_id
        if self.tape.resumes and turn_id is not None:  # a deferred question
            await self.talk.interrupt(turn_id)
        await self.talk.send(said)

    async def _deliver(self, reply: Reply, *, resumed: bool) -> None:
        if reply.kind == "question" and reply.decision == "deny":
            return  # stopping a turn denies its question
        self.has_begun = True
        request_id = await self._until_asked(reply.request_id)
        if reply.kind == "permission":
            assert reply.decision is not None
            await self.talk.decide(
                request_id,
                reply.decision,
                reason=reply.reason,
                updated_input=reply.updated_input,
                remember=await self._offered(request_id) if reply.remember else [],
            )
        else:
            await self.talk.answer(request_id, reply.answer)

    async def _offered(self, request_id: str) -> list[Any]:
        """Returns the rules that the engine offers: narrower than those of the program."""
        open_requests = (await self.talk.status()).requests
        return next(each.suggestions for each in open_requests if each.request_id == request_id)

    async def _until_asked(self, name: str) -> str:
        """Returns the engine's id of a request; it may contain the number of the process."""
        async with asyncio.timeout(SECONDS):
            while True:
                seen = len(self.seen.frames)
                for request in (await self.talk.status()).requests:
                    if request.request_id.partition(".")[0] == name:
                        return request.request_id
                await self.seen.more_than(seen)

    async def _interrupt(self) -> None:
        turn_id = (await self.talk.status()).turn_id
        assert turn_id is not None
        await self.talk.interrupt(turn_id)

    async def _choose(self, model: str | None, permission_mode: str | None) -> None:
        if model is not None:
            await self.talk.set_model(model)
        if permission_mode is not None:
            await self.talk.set_permission_mode(permission_mode)


@pytest.mark.parametrize("path", WHOLE, ids=name_of)
async def test_a_recording_goes_through_an_engine_and_its_log_frames_and_view_are_sound(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape(path)
    counter = Counter(monkeypatch)
    store = await SqliteStore.open(tmp_path / "turnwire.db")
    async with Engine(store, {"claude": agent_of(tape, path, tmp_path)}) as engine:
        rules = Options(on_disconnect="continue")
        talk = await engine.create("claude", conversation_id="talk", cwd=str(tmp_path), rules=rules)
        seen = await Watcher(talk).__aenter__()
        await play(tape, Person(tape, talk, seen), counter)
        [again] = (tmp_path / "again").iterdir()
        assert canonical(Tape(again).said) == canonical(tape.said)
    await seen.ends()
    afterwards = await later_view(store, "talk")
    await store.close()
    check_log(tmp_path / "turnwire.db")
    check_view(seen.view(), afterwards)
    check_tape(tape, afterwards)


class Changing:
    """An agent that starts another program the next time."""

    name = "claude"

    def __init__(self, agent: ClaudeAgent) -> None:
        self.agent = agent
        self.capabilities = agent.capabilities

    def unavailable(self) -> str | None:
        return self.agent.unavailable()

    async def open(self, start: SessionStart) -> AgentSession:
        return await self.agent.open(start)


def story_of(path: Path, place: Path) -> list[Path]:
    """Returns a recording that continues a question, after the recordings before it."""
    name, _, number = name_of(path).rpartition("_")
    if name_of(path) in FIRST:  # of another conversation, whose messages have the same names
        first = place / "first.io.jsonl"
        text = path.with_name(f"{FIRST[name_of(path)]}.io.jsonl").read_text()
        first.write_text(text.replace("msg_scripted", "msg_first"))
        return [first, path]
    before = [f"{name}_{each}" for each in range(1, int(number))]
    return [*(path.with_name(f"{each}.io.jsonl") for each in before), path]


@pytest.mark.parametrize("path", LATER, ids=name_of)
async def test_a_recording_that_goes_on_with_a_question_goes_through_an_engine_as_well(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tapes = [(each, Tape(each)) for each in story_of(path, tmp_path)]
    counter = Counter(monkeypatch)
    store = await SqliteStore.open(tmp_path / "turnwire.db")
    agent = Changing(agent_of(tapes[0][1], tapes[0][0], tmp_path))
    async with Engine(store, {"claude": agent}) as engine:
        rules = Options(on_disconnect="continue")
        talk = await engine.create("claude", conversation_id="talk", cwd=str(tmp_path), rules=rules)
        seen = await Watcher(talk).__aenter__()
        for each, tape in tapes:
            agent.agent = agent_of(tape, each, tmp_path)
            counter.begin()
            await play(tape, Person(tape, talk, seen), counter)
            if each != path:
                if not tape.defers:
                    kill_everything()
                await seen.until(f.SessionState, lambda state: not state.payload.running)
                assert not await asyncio.to_thread(wait_until_gone, list(programs()))
        again = sorted((tmp_path / "again").iterdir(), key=lambda file: file.name)
        for (_, tape), file in zip(tapes, again, strict=True):
            assert canonical(Tape(file).said) == canonical(tape.said)
    await seen.ends()
    afterwards = await later_view(store, "talk")
    await store.close()
    check_log(tmp_path / "turnwire.db")
    check_view(seen.view(), afterwards)
    for _, tape in tapes:
        check_tape(tape, afterwards)


def kill_everything() -> None:
    for pid in programs():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def check_tape(tape: Tape, view: View) -> None:
    """Checks that the view has Claude's finished content and that no turn is open."""
    shown = {block.text for message in view.messages for block in message.blocks if is_text(block)}
    for frame in tape.heard:
        if frame["type"] == "assistant" and not frame.get("parent_tool_use_id"):
            for block in frame["message"]["content"]:
                assert block["type"] != "text" or block["text"] in shown
    assert all(turn.end is not None for turn in view.turns)


def is_text(block: BlockView) -> TypeGuard[TextView]:
    return isinstance(block, TextView)


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
async def test_a_recording_of_a_start_that_was_refused_says_why(path: Path, tmp_path: Path) -> None:
    env = {"CLAUDE_TAPE": str(path), "ANTHROPIC_API_KEY": "sk-tape"}
    agent = ClaudeAgent({}, env=env, cli_path=player(tmp_path), titles=False)
    [why] = Tape(path).heard[-1]["errors"]
    with pytest.raises(AgentGone, match=why):
        await agent.open(SessionStart("talk", "gone", str(tmp_path)))
