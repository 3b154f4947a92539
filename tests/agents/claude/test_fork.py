"""Forks of a conversation with Claude: each branch has its own history."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.agents.claude.helpers.real_claude import Stage, ask, kill_claude, stage
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.claude.extensions.hooks import HookCall, hook
from turnwire.agents.claude.sessions.forking import fork_point
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.ports import NativeFork
from turnwire.testing.model_api import Hold, Reply, Request, Say, Text, ToolUse


def heard(request: Request) -> list[str]:
    """Returns the messages to the model, without the additions of the program."""
    blocks = [
        {"text": message["content"]} if isinstance(message["content"], str) else block
        for message in request.messages
        for block in message["content"]
    ]
    names = ("text", "tool_use_id", "id")  # of words, of a result and of a call
    words = [next(str(b[name]).strip() for name in names if b.get(name)) for b in blocks]
    return [each for each in words if "<system-reminder>" not in each]


async def says(talk: Talk, text: str) -> None:
    async with Watcher(talk) as seen:
        seen.patience = 180.0
        turn_id = (await talk.send(text)).ack.turn_id
        end = await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
        assert not end.payload.is_error, end.payload


def test_every_branch_goes_on_with_its_own_history(tmp_path: Path) -> None:
    async def scene() -> None:
        first = Say([ToolUse("Bash", {"command": "echo made"}, id="run_1")])
        third = Say([Text("three"), Hold("middle")])
        replies: list[Reply] = [
            first,
            "one",
            "two",
            third,
            "here",
            "earlier",
            "stopped",
            "there",
            "again",
        ]
        async with stage(tmp_path, *replies) as it:
            await it.says("first")
            one = (await it.engine.open(it.talk.id)).row.head
            await it.says("second")
            two = (await it.engine.open(it.talk.id)).row.head
            turn_id = (await it.talk.send("third")).ack.turn_id
            assert turn_id is not None
            await it.seen.until(
                f.AssistantChunk,
                lambda frame: not frame.payload.partial and frame.payload.text == "three",
            )
            await it.api.until(lambda api: bool(api.holding), 180)
            during = await it.talk.fork(two)  # while Claude works on another turn
            earlier = await during.fork(one)  # of one that has no session of its own yet
            await it.talk.interrupt(turn_id)
            await it.ends()
            stopped = await it.talk.fork()

            told = ["first", "run_1", "run_1", "one"]
            await says(during, "and here")
            assert heard(it.api.requests[-1]) == [*told, "second", "two", "and here"]
            await says(earlier, "and earlier")
            assert heard(it.api.requests[-1]) == [*told, "and earlier"]
            await says(stopped, "and then")
            mark = "[Request interrupted by user]"
            there = [*told, "second", "two", "third", "three", mark]
            assert heard(it.api.requests[-1]) == [*there, "and then"]
            await it.says("and there")
            assert heard(it.api.requests[-1]) == [*there, "and there"], (
                "the first one knows nothing"
            )
            await _goes_on_after_a_restart(
                it, during.id, [*told, "second", "two", "and here", "here"]
            )

    asyncio.run(scene())


async def _goes_on_after_a_restart(it: Stage, fork: str, told: list[str]) -> None:
    await it.stop()
    await it.start_again()
    talk = await it.engine.open(fork)
    assert talk.row.native_session_id is not None, "it has a session of its own"
    await says(talk, "again?")
    assert heard(it.api.requests[-1]) == [*told, "again?"]


async def test_a_prompt_that_was_never_answered_is_known_to_a_fork_of_a_fork(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "one", Say([Hold("h"), "never"]), "here", "there") as it:
        await it.says("first")
        turn_id = (await it.talk.send("second")).ack.turn_id
        assert turn_id is not None
        await it.api.until(lambda api: bool(api.holding), 180)
        await it.talk.interrupt(turn_id)
        await it.ends()
        fork = await it.talk.fork()
        told = ["first", "one", "second", "[Request interrupted by user]"]
        await says(await fork.fork(), "and here")  # of one that has no session of its own yet
        assert heard(it.api.requests[-1]) == [*told, "and here"]
        await says(fork, "and there")
        assert heard(it.api.requests[-1]) == [*told, "and there"]


@pytest.mark.parametrize("is_killed", [False, True], ids=["forked", "killed"])
async def test_a_deferred_question_that_was_answered_is_known_with_all_that_followed(
    is_killed: bool, tmp_path: Path
) -> None:
    async with stage(tmp_path, "Hm.", Say([ask("ask_1")]), "Good.", "here") as it:
        await it.says("think")
        await it.talk.send("ask me")
        await it.asked()
        await it.sleeps()
        await it.talk.answer("ask_1", "teal")
        assert not (await it.ends()).is_error
        if is_killed:
            kill_claude()
        await says(it.talk if is_killed else await it.talk.fork(), "and here")
        told = [each for each in heard(it.api.requests[-1]) if not each.startswith("Continue")]
        assert told == ["think", "Hm.", "ask me", "ask_1", "ask_1", "Good.", "and here"]
        assert "teal" in str(it.api.requests[-1].messages)


def test_a_missing_session_is_not_forked(tmp_path: Path) -> None:
    for session in ("gone", "../escape"):
        assert asyncio.run(fork_point(tmp_path, NativeFork(session, ["uuid"]), "fork")) is None


def test_a_fork_before_a_summary_restores_files_and_goes_on_with_its_history(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        change = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
        replies: list[Reply] = [
            Say([ToolUse("Write", {"file_path": "a.txt", "content": "one"}, id="write_1")]),
            "Written.",
            Say([ToolUse("Edit", {**change, "replace_all": False}, id="edit_1")]),
            "Changed.",
            "<summary>Files were written.</summary>",
            "here",
            "there",
            "and on",
        ]
        asked: list[HookCall] = []
        compacts = hook("PreCompact", name="compacts")(asked.append)
        mode = {"permission_mode": "acceptEdits"}
        async with stage(tmp_path, *replies, conversation=mode, hooks=[compacts]) as it:
            place = (await it.says("write it")).after_sequence
            last = (await it.says("change it")).after_sequence
            await it.says("/compact")
            assert [(call.event, call.data["trigger"]) for call in asked] == [
                ("PreCompact", "manual")
            ]
            assert [run["hook"] for run in it.news("hook_run")] == ["compacts"]
            assert it.news("compact_boundary")

            before, behind = await it.talk.fork(place), await it.talk.fork(last)
            assert (it.work / "a.txt").read_text() == "two"
            second = it.seen.of(f.UserMessage)[1].payload.message_sequence
            assert (await behind.rewind_files(second)).ack.files == [str(it.work / "a.txt")]
            assert (it.work / "a.txt").read_text() == "one", "by one that has said nothing yet"

            written = ["write it", "write_1", "write_1", "Written."]
            await says(before, "and here")
            assert heard(it.api.requests[-1]) == [*written, "and here"]
            await says(behind, "and there")
            changed = [*written, "change it", "edit_1", "edit_1", "Changed."]
            assert heard(it.api.requests[-1]) == [*changed, "and there"]
            await _goes_on_after_a_restart(it, before.id, [*written, "and here", "here"])

    asyncio.run(scene())
