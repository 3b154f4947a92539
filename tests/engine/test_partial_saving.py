"""Partials are saved in the background, and are in the log after a crash as after an interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.core.conversation.helpers.driver import whose
from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on
from tests.stores.helpers.sql import rows_of
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from turnwire.core.message import Message, known_meta
from turnwire.core.partials import Partial
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.engine.actor.partial_saving import Saving
from turnwire.ports import Claim, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

SECOND = 1.0


class Scene:
    """A turn under way, on a clock that stands still, with everything that is saved of it."""

    def __init__(
        self,
        engine: Engine,
        talk: Talk,
        session: ScriptedSession,
        clock: ManualClock,
        seen: Watcher,
    ) -> None:
        self.engine = engine
        self.talk = talk
        self.session = session
        self.clock = clock
        self.seen = seen
        self.saves: list[list[Partial]] = []

    async def grow(self, *texts: str, message: str = "m-1", index: int = 0) -> None:
        """Pieces of a text, until a follower has them."""
        for text in texts:
            self.session._say(ev.ContentDelta(*whose(), message, index, "text", text))
            await self.seen.until(f.AssistantChunk, partial(_says, text))

    async def say(self, *events: ev.NormalizedStreamEvent) -> None:
        self.session._say(*events)

    async def pass_time(self, seconds: float = SECOND) -> None:
        """Let time pass, and all that it has begun come to its end."""
        self.clock.forward(seconds)
        live = self.engine.alive[self.talk.id]
        async with asyncio.timeout(PATIENCE):
            while live._saving._task is not None:
                await asyncio.wait([live._saving._task])

    async def saved(self) -> list[str]:
        """Returns the stored text of each block."""
        return [each.text for each in await self.engine.store.partials(self.talk.id)]

    async def crashed(self, folder: Path) -> list[Message]:
        """Returns the log that another server recovers from a copy of the file."""
        await self.engine.store.backup(str(folder / "crashed.db"))
        async with engine_on(folder / "crashed.db", agent=ScriptedAgent()) as other:
            talk = await other.open(self.talk.id)
            await talk.wake()
            assert await other.store.partials(self.talk.id) == []
            return [each.entry for each in await other.store.entries(self.talk.id)]


def play(path: Path, scene: Callable[[Scene], object], *, period: float = SECOND) -> None:
    """Runs a scene in a turn whose agent is about to write a text."""

    async def run() -> None:
        agent, clock = ScriptedAgent(), ManualClock()
        settings = EngineSettings(save_every=period)
        async with engine_on(path, agent=agent, clock=clock, settings=settings) as engine:
            talk = await engine.create("demo", conversation_id="talk")
            async with Watcher(talk) as seen:
                await talk.send("Tell me a story")
                session = await agent.opened()
                session.begins()
                begun = Scene(engine, talk, session, clock, seen)
                real = engine.store.save_partials

                async def save(claim: Claim, partials: Sequence[Partial]) -> None:
                    begun.saves.append([*partials])
                    await real(claim, partials)

                engine.store.save_partials = save  # type: ignore[method-assign]
                session._say(
                    ev.MessageStarted(*whose(), "m-1", "scripted"),
                    ev.ContentStarted(*whose(), "m-1", 0, TextBlock("", "in_progress")),
                )
                await scene(begun)  # type: ignore[misc]

    asyncio.run(run())


def _says(text: str, frame: f.AssistantChunk) -> bool:
    return frame.payload.text == text


def finished(text: str) -> list[ev.NormalizedStreamEvent]:
    whole = TextBlock(text, "completed")
    return [
        ev.AssistantMessage(*whose(), "m-1", 0, [whole]),
        ev.ContentCompleted(*whose(), "m-1", 0, whole),
        ev.MessageCompleted(*whose(), "m-1", "end_turn"),
    ]


def aborted(entries: list[Message]) -> list[tuple[str | None, str]]:
    """The blocks that were cut short, and their texts."""
    return [
        (known_meta(entry).message_id, entry.parts[0].payload.text)  # type: ignore[union-attr]
        for entry in entries
        if known_meta(entry).aborted
    ]


# --- when, and how much ---------------------------------------------------------------------------


def test_only_the_new_text_of_a_block_is_saved_once_a_second(path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ", "upon ")
        await s.pass_time(0.8)
        assert s.saves == []
        await s.pass_time(0.2)
        assert await s.saved() == ["Once upon "]
        await s.grow("a ")
        await s.pass_time(0.5)
        await s.grow("time")
        await s.pass_time(0.4)
        assert len(s.saves) == 1
        await s.pass_time(0.1)
        assert await s.saved() == ["Once upon a time"]
        assert [(p.start, p.text) for [p] in s.saves] == [(0, "Once upon "), (10, "a time")]
        await s.pass_time(60)
        assert len(s.saves) == 2, "nothing has grown"

    play(path, scene)


def test_a_long_text_is_written_in_slices_and_each_character_once(path: Path) -> None:
    async def scene(s: Scene) -> None:
        text = "x" * 300_000
        await s.grow(text)
        await s.pass_time()
        await s.grow("more")
        await s.pass_time()
        assert await s.saved() == [text + "more"]
        sizes = [len(partial.text) for save in s.saves for partial in save]
        assert sum(sizes) == len(text) + 4
        assert max(sizes) <= 128 * 1024, "other commits get between"

    play(path, scene)


def test_a_block_that_is_finished_within_a_second_is_never_saved(path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.say(*finished("Once "))
        await s.seen.until(f.AssistantChunk, lambda frame: not frame.payload.partial)
        await s.pass_time(10)
        assert s.saves == []

    play(path, scene)


def test_no_partial_is_saved_if_saving_is_switched_off(path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time(10)
        assert s.saves == []

    play(path, scene, period=0)


def test_conversations_that_grow_at_the_same_time_share_their_saves() -> None:
    clock = ManualClock(1_000_000)
    due = []

    class Grown:
        has_grown = True

    for late in (0, 7, 43, 99, 101):
        saving = Saving(
            Grown(),  # type: ignore[arg-type]
            Claim("c", "one", 1),
            store=None,  # type: ignore[arg-type]
            clock=clock,
            period=1000,
            lost=lambda: None,
        )
        saving._due = lambda: due.append(clock.now())  # type: ignore[method-assign]
        clock.forward((1_000_000 + late - clock.now()) / 1000)
        saving.look()
    clock.forward(10)
    assert due == [1_001_000, 1_001_000, 1_001_000, 1_001_000, 1_001_100]


# --- when a block ends --------------------------------------------------------------------------


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_a_finished_block_leaves_nothing_saved(path: Path, tmp_path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time()
        assert await s.saved() == ["Once "]
        await s.say(*finished("Once upon"))
        await s.seen.until(f.AssistantChunk, lambda frame: not frame.payload.partial)
        assert await s.saved() == []
        assert aborted(await s.crashed(tmp_path)) == []

    play(path, scene)


def test_one_commit_writes_the_entry_and_deletes_its_partials(path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time()
        commits = []
        real = s.engine.store.commit

        async def commit(commit: object) -> None:
            await real(commit)  # type: ignore[arg-type]
            entries = await s.engine.store.entries("talk")
            said = any(known_meta(each.entry).message_id == "m-1" for each in entries)
            commits.append((said, await s.saved()))

        s.engine.store.commit = commit  # type: ignore[method-assign]
        await s.say(*finished("Once upon"))
        await s.seen.until(f.AssistantChunk, lambda frame: not frame.payload.partial)
        assert commits[0] == (True, [])

    play(path, scene)


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_a_discarded_message_leaves_no_saved_partial(path: Path, tmp_path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time()
        await s.say(ev.MessageDiscarded(*whose(), "m-1", 0, "restarted"))
        await s.seen.until(f.AssistantDiscarded)
        assert await s.saved() == []
        assert aborted(await s.crashed(tmp_path)) == []

    play(path, scene)


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_the_text_of_an_agent_that_dies_is_in_the_log_once(path: Path, tmp_path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ", "upon ")
        await s.pass_time()
        await s.grow("a time")
        s.session.dies()
        await s.seen.until(f.AssistantComplete)
        assert await s.saved() == []
        entries = [each.entry for each in await s.engine.store.entries("talk")]
        assert aborted(entries) == [("m-1", "Once upon a time")]
        assert aborted(await s.crashed(tmp_path)) == [("m-1", "Once upon a time")]

    play(path, scene)


def test_a_waiting_turn_removes_unfinished_text_of_a_lost_agent_from_the_view(path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time()
        s.session.asks()
        await s.seen.until(f.AssistantRequestInput)
        deferred = s.session.calls[-1]
        helper = ("scripted", "s", s.session._call("Agent"), "a-1")
        await s.say(
            ev.MessageStarted(*helper, "m-2", "scripted"),
            ev.ContentStarted(*helper, "m-2", 0, TextBlock("", "in_progress")),
            ev.ContentDelta(*helper, "m-2", 0, "text", "half"),
        )
        await s.seen.until(f.AssistantChunk, lambda frame: frame.payload.text == "half")
        await s.pass_time()
        await s.say(ev.TurnCompleted(*whose(), None, deferred_tool_use_id=deferred))
        await s.seen.until(f.AssistantDiscarded)
        assert await s.saved() == []

    play(path, scene)


# --- after a crash --------------------------------------------------------------------------------


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_a_crash_keeps_the_same_text_as_an_interrupt(path: Path, tmp_path: Path) -> None:
    """Texts and thinking, of sub-agents too, in their order; half a tool call is no call."""
    call = ToolUseBlock("t-half", "Bash", "BASH", None, "in_progress")

    async def scene(s: Scene) -> None:
        helper = ("scripted", "s", s.session._call("Agent"), "a-1")
        await s.say(
            ev.ContentStarted(*whose(), "m-1", 1, ThinkingBlock("", "in_progress")),
            ev.ContentDelta(*whose(), "m-1", 1, "thinking", "Hmm"),
            ev.MessageStarted(*helper, "m-2", "scripted"),
            ev.ContentStarted(*helper, "m-2", 0, TextBlock("", "in_progress")),
            ev.ContentDelta(*helper, "m-2", 0, "text", "I help"),
            ev.ContentStarted(*whose(), "m-1", 2, call),
            ev.ContentDelta(*whose(), "m-1", 2, "tool_input", '{"a', "t-half"),
        )
        await s.grow("Once ")
        await s.pass_time()
        after_crash = await s.crashed(tmp_path)
        s.session.dies()
        await s.seen.until(f.AssistantComplete)
        after_loss = [each.entry for each in await s.engine.store.entries("talk")]
        assert aborted(after_crash) == [("m-1", "Once "), ("m-1", "Hmm"), ("m-2", "I help")]
        kept = [entry for entry in after_crash if known_meta(entry).aborted]
        lost = [entry for entry in after_loss if known_meta(entry).aborted]
        assert [(e.parts, e.role, e.meta) for e in kept] == [
            (e.parts, e.role, e.meta) for e in lost
        ]
        names = [known_meta(entry).message_type for entry in after_crash]
        assert names[-1] == "interrupted", "the turn ends behind them"

    play(path, scene)


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_a_server_without_the_agent_keeps_the_shown_text_as_well(
    path: Path, tmp_path: Path
) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time()
        await s.engine.store.backup(str(tmp_path / "copy.db"))
        store = await SqliteStore.open(tmp_path / "copy.db")
        async with Engine(store, {}) as other:
            entries = [each.entry for each in await other.store.entries("talk")]
            assert aborted(entries) == [("m-1", "Once ")]
            assert await store.partials("talk") == []
            assert not (await other.status("talk")).running
        await store.close()

    play(path, scene)


# --- when it cannot be saved --------------------------------------------------------------------


def test_text_that_could_not_be_saved_is_saved_with_the_next_partial(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(s: Scene) -> None:
        real = s.engine.store.save_partials

        async def refuse(claim: Claim, partials: Sequence[Partial]) -> None:
            raise StorageUnavailable("The disk is full.")

        s.engine.store.save_partials = refuse  # type: ignore[method-assign]
        await s.grow("Once ")
        await s.pass_time()
        s.engine.store.save_partials = real  # type: ignore[method-assign]
        assert await s.saved() == []
        await s.pass_time()
        assert await s.saved() == ["Once "], "also if nothing comes"

    play(path, scene)


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_an_owner_that_was_replaced_saves_nothing_and_ends(path: Path) -> None:
    async def scene(s: Scene) -> None:
        await s.grow("Once ")
        await s.pass_time()
        rows_of(path, "UPDATE conversations SET fence = fence + 1, owner = 'other'")
        await s.grow("upon ")
        await s.pass_time()
        assert await s.saved() == ["Once "]
        async with asyncio.timeout(PATIENCE):
            await s.session.closed.wait()

    play(path, scene)
