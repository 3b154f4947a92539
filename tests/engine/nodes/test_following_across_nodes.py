"""A follower on one node sees a conversation that another node runs, as it happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.engine.nodes.two_engines import two_engines
from turnwire.dialects.v2 import frames as f


def test_growing_text_is_seen_on_the_other_node(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(talk) as near, Watcher(await two.b.open(talk.id)) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.speaks("Hel", finishes=False)
                for each in (near, far):
                    said = await each.until(f.AssistantChunk)
                    assert (said.payload.text, said.payload.partial) == ("[1] Hel", True)
                session.speaks("lo.", finishes=True)
                session.ends()
                for each in (near, far):
                    await each.until(f.AssistantComplete)
                    await each.state("active")
                assert far.view().messages == near.view().messages
                assert far.view().turns == near.view().turns

    asyncio.run(scene())


def test_a_client_that_comes_to_the_other_node_in_mid_answer_gets_the_text_so_far(
    path: Path,
) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(talk) as near:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.speaks("Hel", finishes=False)
                await near.until(f.AssistantChunk)
                async with Watcher(await two.b.open(talk.id)) as far:
                    said = await far.until(f.AssistantChunk)
                    assert (said.payload.text, said.payload.snapshot) == ("[1] Hel", True)
                    session.speaks("lo.", finishes=True)
                    session.ends()
                    for each in (near, far):
                        await each.until(f.AssistantComplete)
                        await each.state("active")
                    assert far.view().messages == near.view().messages

    asyncio.run(scene())


def test_many_who_come_together_share_one_question_to_the_owner(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            there = await two.b.open(talk.id)
            async with Watcher(talk) as near:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.speaks("Hel", finishes=False)
                await near.until(f.AssistantChunk)
                async with asyncio.TaskGroup() as group:
                    far = [Watcher(there) for _ in range(20)]
                    for each in far:
                        group.create_task(each.__aenter__())
                session.speaks("lo.", finishes=True)
                session.ends()
                for each in far:
                    await each.until(f.AssistantComplete)
                    await each.state("active")
                    assert each.view().messages == far[0].view().messages
                for each in far:
                    await each.__aexit__()

    asyncio.run(scene())


def test_a_command_on_the_other_node_reaches_the_owner_and_is_answered_first(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(talk) as near, Watcher(await two.b.open(talk.id)) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.asks()
                asked = (await far.state("waiting_input")).payload.requests[0]
                seen: list[int] = []
                there = (await two.b.open(talk.id)).telling(lambda _: seen.append(len(far.frames)))
                before = len(far.frames)
                await there.answer(asked.request_id, "tea")
                assert seen == [before]
                await far.until(f.AssistantRequestResolved)
                session.ends()
                for each in (near, far):
                    await each.until(f.AssistantComplete)
                assert two.agent_b.sessions == []

    asyncio.run(scene())


def test_a_conversation_without_an_owner_is_run_by_the_node_that_is_asked(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(talk) as far:
                await (await two.b.open(talk.id)).send("hello")
                session = await two.agent_b.opened()
                session.begins()
                session.speaks("Hello.", finishes=False)
                await far.until(f.AssistantChunk)  # on A, which heard that B runs it
                session.ends()
                await far.until(f.AssistantComplete)
            assert two.agent_a.sessions == []

    asyncio.run(scene())


def test_when_the_owner_stops_the_followers_on_the_other_node_go_on(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(await two.b.open(talk.id)) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                await far.state("streaming")
                await two.a.stop()
                await far.state("interrupted")
                async with asyncio.timeout(PATIENCE):
                    await (await two.b.open(talk.id)).send("again")
                session = await two.agent_b.opened()
                session.begins()
                session.speaks("Here.", finishes=True)
                session.ends()
                await far.until(
                    f.AssistantChunk, lambda frame: frame.payload.text.endswith("Here.")
                )

    asyncio.run(scene())


def test_a_client_that_comes_when_the_owner_has_just_let_go_gets_the_true_state(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            there = await two.b.open(talk.id)
            async with Watcher(there) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.speaks("Hel", finishes=False)
                await far.until(f.AssistantChunk)  # from now on the owner sends what happens
                session.speaks("lo.", finishes=True)
                session.ends()
                await far.until(f.AssistantComplete)
                await far.state("active")
                assert two.b.cluster is not None
                two.b.cluster.detach(talk.id)  # as the owner does it; the log is not read yet
                async with Watcher(there) as late:
                    state = late.of(f.SessionState)[0].payload
                    assert (state.last_turn_id, state.last_turn is None) == (1, False)
                    assert late.view().messages == far.view().messages

    asyncio.run(scene())
