"""A server that crashes between two related writes, with a connected client."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import engine_on
from tests.prove.helpers.day_store import points_of
from tests.server.helpers.crash_scenes import SAVING, begin
from tests.server.helpers.obliging_agent import FILES
from tests.server.helpers.servers import Process, free_port, process
from tests.server.helpers.v2_client import PATIENCE
from turnwire.agents.demo import DemoAgent
from turnwire.client import Client
from turnwire.client.conversation import ClientConversation
from turnwire.core.controls import McpServers, McpStatus
from turnwire.core.conversation.state import Options
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.engine import EngineSettings
from turnwire.errors import TurnwireError
from turnwire.stores.sqlite import SqliteStore

POINTS = [
    "claims:1",
    "claimed:1",
    "spawns:1",
    "spawned:1",
    "ask_stepped:1",
    "ask_written:1",
    "ask_written:2",
    "ask_acknowledged:1",
    "ask_acknowledged:2",
    "agent_opens:1",
    "agent_opened:1",
    "prompts:1",
    "prompted:1",
    "step_made:2",
    "step_written:2",
    "step_written:4",
    "publishes:2",
    "published:3",
    "hints:2",
    "hinted:3",
    "delivers:1",
    "delivered:1",
    "sqlite_commits:6",
    "sqlite_committed:8",
]
NEEDS_SQLITE = pytest.mark.needs_sqlite(reason="a crash point of the file")
# Those of PostgreSQL are passed by tests/prove.
MARKED = [
    pytest.param(point, marks=[NEEDS_SQLITE] if point.startswith("sqlite") else [])
    for point in POINTS
]


CHILD = {"TURNWIRE_AGENTS": "tests.server.helpers.quick_demo:make_child"}
IDLE = {"TURNWIRE_AGENT_IDLE": "0.1"}
# Nothing is under way there: so one server after the other may die in the same conversation.
AT_REST: list[tuple[str, dict[str, str]]] = [
    *[(f"{name}:1", IDLE) for name in ("closes", "closed")],
    *[(f"{name}:1", {}) for name in ("renews", "renewed")],
]
STOPPED = ["releases:1", "released:1"]  # a server that is stopped releases its conversations
STOPPED += ["leaves:1", "left:1"]  # and leaves the others
STARTING = ["joins:1", "joined:1"]
ELSEWHERE = ["catch_up_publishes:1", "catch_up_published:1"]
CREATING = ["creates:1", "created:1"]
STOPPING = ["interrupts:1", "interrupted:1"]
CHOOSING = ["chooses:1", "chosen:1"]
ASKING = ["controls:1", "controlled:1"]  # a control
STEERING = ["steers:1", "steered:1"]  # a message for the running turn


def test_no_point_is_left_out() -> None:
    others = [*STARTING, *STOPPED, *ELSEWHERE, *CREATING, *STOPPING, *CHOOSING, *ASKING, *SAVING]
    others += STEERING
    tried = {*POINTS, *others, *(point for point, _ in AT_REST)}
    names = {point.partition(":")[0] for point in tried}
    assert names == set(points_of("sqlite"))


async def hold(talk: ClientConversation) -> None:
    """A question that is answered, and another message."""
    asking = asyncio.create_task(talk.send("question", "m-1"))
    second: asyncio.Task[object] | None = None
    answering: set[asyncio.Task[object]] = set()
    async for frame in talk:
        if isinstance(frame, f.AssistantRequestInput):
            answering.add(asyncio.create_task(talk.answer(frame.payload.question_id, "Blue")))
        if isinstance(frame, f.AssistantComplete) and second is None:
            second = asyncio.create_task(talk.send("hello", "m-2"))
        if len(talk.view().turns) == 2:
            break
    await asking
    assert second is not None
    await second
    await asyncio.gather(*answering, return_exceptions=True)  # it may have come too late


@pytest.mark.parametrize("point", MARKED)
def test_a_client_notices_nothing_but_a_pause(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path), free_port()
        agents = CHILD if point.startswith("spawn") else {}
        with process(tmp_path, port=port, **agents, **{VARIABLE: point}) as first:
            client = Client(first.url, first.token)
            async with client.conversation(name) as talk:
                held = asyncio.create_task(hold(talk))
                code = await asyncio.to_thread(first.popen.wait, PATIENCE)
                assert code == EXIT_CODE
                with process(tmp_path, port=port):
                    async with asyncio.timeout(PATIENCE):
                        await held
                        async with client.conversation(name) as newcomer:
                            await newcomer.connected.wait()
                            seen, fresh = talk.view(), newcomer.view()
        assert seen.messages == fresh.messages
        assert seen.turns == fresh.turns
        assert talk.cursor == newcomer.cursor
        said = [each.client_message_id for each in fresh.messages if each.role == "user"]
        assert said == ["m-1", "m-2"], "each took effect once, in order"

    asyncio.run(run())


async def dies(server: Process) -> None:
    code = await asyncio.to_thread(server.popen.wait, PATIENCE)
    assert code == EXIT_CODE


async def follow(talk: ClientConversation, done: Callable[[f.ServerFrame], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        async for frame in talk:
            if done(frame):
                return


def ends(turn_id: int) -> Callable[[f.ServerFrame], bool]:
    return lambda frame: isinstance(frame, f.AssistantComplete) and frame.turn_id == turn_id


async def set_model(talk: ClientConversation, model: str) -> None:
    await talk._ask(c.SetModel(payload=c.ModelChoice(model)))


async def check_same(client: Client, name: str, talk: ClientConversation, said: list[str]) -> None:
    """Checks that a new client has the same view as one that was connected all the time."""
    async with client.conversation(name) as newcomer, asyncio.timeout(PATIENCE):
        await newcomer.connected.wait()
        while talk.cursor < newcomer.cursor:
            await anext(aiter(talk))
        assert talk.view().messages == newcomer.view().messages
        assert talk.view().turns == newcomer.view().turns
        own = [m.client_message_id for m in newcomer.view().messages if m.role == "user"]
        assert own == said, "each took effect once, in order"


async def ask(talk: ClientConversation, turn_id: int) -> None:
    await talk.send("hello", f"m-{turn_id}")
    await follow(talk, ends(turn_id))


def test_a_client_goes_on_after_several_servers_that_die_while_idle(tmp_path: Path) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path), free_port()
        async with AsyncExitStack() as stack:
            talk: ClientConversation | None = None
            client: Client | None = None
            for turn_id, (point, settings) in enumerate(AT_REST, 1):
                asked: asyncio.Task[None] | None = None
                while asked is None or not asked.done():  # on a busy machine it dies before
                    with process(tmp_path, port=port, **settings, **{VARIABLE: point}) as server:
                        if client is None or talk is None:
                            client = Client(server.url, server.token)
                            talk = await stack.enter_async_context(client.conversation(name))
                        asked = asked or asyncio.create_task(ask(talk, turn_id))
                        await dies(server)
                await asked
            with process(tmp_path, port=port):
                assert client is not None
                assert talk is not None
                await check_same(client, name, talk, [f"m-{n}" for n in range(1, len(AT_REST) + 1)])

    asyncio.run(run())


@pytest.mark.parametrize("point", STARTING)
def test_a_server_dies_while_it_starts(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name = await begin(tmp_path)
        with (
            pytest.raises(AssertionError, match="the server has ended"),
            process(tmp_path, port=0, **{VARIABLE: point}),
        ):
            pass
        with process(tmp_path) as server:
            async with Client(server.url, server.token).conversation(name) as talk:
                await talk.send("hello", "m-1")
                await follow(talk, ends(1))
        async with SqliteStore.open(tmp_path / "turnwire.db") as store:
            assert len(await store.nodes()) <= 1, "the one that died was removed"

    asyncio.run(run())


@pytest.mark.parametrize("point", STOPPED)
def test_a_server_dies_while_it_stops(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path), free_port()
        with process(tmp_path, port=port, **{VARIABLE: point}) as server:
            client = Client(server.url, server.token)
            async with client.conversation(name) as talk:
                await talk.send("hello", "m-1")
                await follow(talk, ends(1))
                server.popen.send_signal(signal.SIGINT)
                await dies(server)
                with process(tmp_path, port=port):
                    await talk.send("hello", "m-2")
                    await follow(talk, ends(2))
                    await check_same(client, name, talk, ["m-1", "m-2"])

    asyncio.run(run())


def test_a_crash_during_creation_leaves_a_whole_conversation_or_none(tmp_path: Path) -> None:
    async def run() -> None:
        port = free_port()
        for there, point in enumerate(CREATING):
            with process(tmp_path, port=port, **{VARIABLE: point}) as server:
                with pytest.raises(TurnwireError):
                    await Client(server.url, server.token).create("demo")
                await dies(server)
            async with engine_on(tmp_path / "turnwire.db", agent=DemoAgent()) as engine:
                assert len(await engine.store.conversations()) == there

    asyncio.run(run())


@pytest.mark.parametrize("point", STOPPING)
def test_a_turn_that_was_to_stop_has_stopped(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path, delay=0.02), free_port()
        with process(tmp_path, port=port, **{VARIABLE: point}) as server:
            client = Client(server.url, server.token)
            async with client.conversation(name) as talk:
                await talk.send("long", "m-1")
                await follow(talk, lambda frame: isinstance(frame, f.AssistantChunk))
                stopping = asyncio.create_task(talk.interrupt(1))
                await dies(server)
                with process(tmp_path, port=port):
                    await follow(talk, ends(1))
                    await stopping
                    [turn] = talk.view().turns
                    assert turn.end.interrupted
                    await talk.send("hello", "m-2")
                    await follow(talk, ends(2))
                    await check_same(client, name, talk, ["m-1", "m-2"])

    asyncio.run(run())


@pytest.mark.parametrize("point", STEERING)
def test_a_message_for_a_turn_that_a_crash_ends_gets_its_own_turn(
    tmp_path: Path, point: str
) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path, delay=0.02), free_port()
        with process(tmp_path, port=port, **{VARIABLE: point}) as server:
            client = Client(server.url, server.token)
            async with client.conversation(name) as talk:
                await talk.send("long", "m-1")
                await follow(talk, lambda frame: isinstance(frame, f.AssistantChunk))
                steering = asyncio.create_task(talk.send("think", "m-2", steer=True))
                await dies(server)
                with process(tmp_path, port=port):
                    await follow(talk, ends(1))
                    told = await steering
                    assert told.turn_id == 1
                    again = await talk.send("think", "m-2", steer=True)
                    assert (again.duplicate, again.queue_id) == (True, told.queue_id)
                    await follow(talk, ends(2))
                    await check_same(client, name, talk, ["m-1", "m-2"])
                    view = talk.view()
                    said = [each for each in view.messages if each.role == "user"]
                    assert [each.turn_id for each in said] == [1, 2]
                    assert not said[1].steered
                    assert [turn.end.interrupted for turn in view.turns] == [True, False]
                    assert view.status is not None
                    assert view.status.queue == []

    asyncio.run(run())


@pytest.mark.parametrize("point", CHOOSING)
def test_a_model_that_was_chosen_stays_chosen(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        able = {"TURNWIRE_AGENTS": "tests.server.helpers.frame_checks:Able"}
        name, port = await begin(tmp_path), free_port()
        with process(tmp_path, port=port, **able, **{VARIABLE: point}) as server:
            client = Client(server.url, server.token)
            async with client.conversation(name) as talk:
                await talk.send("hello", "m-1")
                await follow(talk, ends(1))
                choice = asyncio.create_task(set_model(talk, "m-1"))
                await dies(server)
                with process(tmp_path, port=port, **able):
                    await choice
                    async with client.conversation(name) as newcomer:
                        await newcomer.connected.wait()
                        status = newcomer.view().status
                    assert status is not None
                    assert status.model == "m-1"
                    await talk.send("hello", "m-2")
                    await follow(talk, ends(2))
                    await check_same(client, name, talk, ["m-1", "m-2"])

    asyncio.run(run())


@pytest.mark.parametrize("point", ASKING)
def test_a_control_is_sent_again_after_a_crash(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        obliging = {"TURNWIRE_AGENTS": "tests.server.test_controls:Obliging"}
        name, port = await begin(tmp_path), free_port()
        with process(tmp_path, port=port, **obliging, **{VARIABLE: point}) as server:
            client = Client(server.url, server.token)
            async with client.conversation(name) as talk:
                asking = asyncio.create_task(talk.control(McpStatus()))
                await dies(server)
                with process(tmp_path, port=port, **obliging):
                    assert await asking == McpServers([FILES])
                    await talk.send("hello", "m-1")
                    await follow(talk, ends(1))
                    await check_same(client, name, talk, ["m-1"])

    asyncio.run(run())


@pytest.mark.parametrize("point", ELSEWHERE)
def test_a_client_goes_on_after_the_death_of_a_server_that_follows_another(
    tmp_path: Path, point: str
) -> None:
    async def run() -> None:
        port = free_port()
        path, agent = tmp_path / "turnwire.db", DemoAgent(delay=0)
        # Nothing here is renewed while a server starts, however long that takes.
        async with engine_on(path, agent=agent, settings=EngineSettings(lease=600)) as engine:
            rules = Options(on_disconnect="continue")
            here = await engine.create("demo", rules=rules)
            name = here.id
            await here.ask("hello", client_message_id="m-1")
            with process(tmp_path, port=port, **{VARIABLE: point}) as server:
                client = Client(server.url, server.token)
                async with client.conversation(name) as talk:
                    # It may die before: the title of the first turn is something to catch up with.
                    death = asyncio.create_task(dies(server))
                    connected = asyncio.create_task(talk.connected.wait())
                    await asyncio.wait((death, connected), return_when=asyncio.FIRST_COMPLETED)
                    connected.cancel()
                    await here.send("hello", client_message_id="m-2")
                    await death
                    with process(tmp_path, port=port):
                        await follow(talk, ends(2))
                        await check_same(client, name, talk, ["m-1", "m-2"])

    asyncio.run(run())
