"""A standby that is promoted: what it lacks is never taken for what was there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.engine.helpers.watcher import Watcher
from tests.stores.postgres.faults import Proxy, until_writable
from tests.stores.postgres.server import TestServer
from turnwire.agents.demo import DemoAgent
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.ports import Fenced, NewConversation, StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres import PostgresStore, migrate
from turnwire.testing.store_checks.log import texts
from turnwire.testing.store_samples import Writing, at, begin


class Pair:
    """A primary and its standby, with one database."""

    def __init__(self) -> None:
        self.primary = TestServer()
        asyncio.run(self.primary.add_role())
        name = asyncio.run(self.primary.create())
        self.address = self.primary.store_address(name)
        asyncio.run(migrate(Address(self.address)))
        self.standby = self.primary.standby()
        self.standby_address = self.standby.store_address(name)

    async def stay_behind(self) -> None:
        """Lets the standby have everything until now, and nothing from now on."""
        await self.standby.catch_up(self.primary)
        await self.standby.stop_receiving()

    async def heads(self) -> list[tuple[str, int]]:
        """Returns the end of each log on the primary."""
        sql = "SELECT conversation_id, head FROM conversations ORDER BY 1"
        return [tuple(row) for row in await self.primary.run_in(self.address, sql)]


@pytest.fixture
def pair() -> Iterator[Pair]:
    both = Pair()
    yield both
    both.standby.stop()
    both.primary.stop()


# --- a store that is opened after it --------------------------------------------------------------


async def test_a_standby_that_lacks_acknowledged_commits_is_a_new_epoch_and_owns_nothing(
    pair: Pair,
) -> None:
    async with PostgresStore.open(pair.address, uses_callers_time=True) as store:
        talk = await begin(store)
        await talk.say("a", "b")
        await store.note("before", at=at())
        await pair.stay_behind()
        await talk.say("c")
        epoch = store.epoch
    pair.standby.promote()
    async with PostgresStore.open(pair.standby_address, uses_callers_time=True) as store:
        assert store.epoch != epoch
        assert await texts(store, "c") == ["a", "b"]
        row = await store.conversation("c")
        assert row is not None
        assert row.owner is None
        with pytest.raises(Fenced):
            await Writing(store, talk.claim, talk.state).say("d")
        await store.note("after", at=at())
        assert [each.action for each in await store.audit()] == ["before", "after"]
    async with PostgresStore.open(pair.standby_address) as again:
        assert again.epoch == store.epoch


async def test_a_standby_that_is_not_promoted_is_refused(pair: Pair) -> None:
    with pytest.raises(StorageUnavailable, match="a standby that is not promoted"):
        await PostgresStore.open(pair.standby_address, patience=0)


async def test_a_synchronous_standby_keeps_the_epoch_and_everything_goes_on(pair: Pair) -> None:
    await pair.primary.wait_for_commits(pair.standby, is_synchronous=True)
    async with (
        Proxy(pair.address) as proxy,
        PostgresStore.open(
            proxy.address, uses_callers_time=True, is_synchronous=True, patience=30
        ) as store,
    ):
        talk = await begin(store)
        await talk.say("a", "b")
        epoch = store.epoch
        pair.primary.kill()
        pair.standby.promote()
        proxy.lead_to(pair.standby_address)
        await talk.say("c")
        await store.note("after", at=at())
        assert store.epoch == epoch
        assert await texts(store, "c") == ["a", "b", "c"]
    async with PostgresStore.open(pair.standby_address) as command:
        assert command.epoch == epoch, "a command knows what the server has declared"


# --- a store that runs meanwhile ------------------------------------------------------------------


async def test_a_store_that_is_moved_to_the_promoted_standby_writes_nothing_as_before(
    pair: Pair,
) -> None:
    async with (
        Proxy(pair.address) as proxy,
        PostgresStore.open(proxy.address, uses_callers_time=True) as store,
    ):
        talks = [await begin(store, f"c{number}") for number in range(8)]
        for talk in talks:
            await talk.say("a")
        await pair.stay_behind()
        for talk in talks:
            await talk.say("a word that is lost")
        epoch = store.epoch
        pair.standby.promote()
        proxy.lead_to(pair.standby_address)
        proxy.cut_all()
        for talk in talks:
            with pytest.raises(Fenced):
                await talk.say("c")
            assert await texts(store, talk.id) == ["a"]
        assert store.epoch != epoch
        assert await store.search("lost") == []
        claim = await store.claim("c0", "two", now=0, lease=1000)
        row = await store.conversation("c0")
        assert row is not None
        await Writing(store, claim, row.state).say("another word")
        assert [hit.sequence for hit in await store.search("another")] == [2]


@pytest.mark.parametrize("wanted", ["primary", "read-write"])
async def test_an_address_with_both_servers_leads_to_the_promoted_one(
    wanted: str, pair: Pair
) -> None:
    name = urlsplit(pair.address).path
    hosts = f"{pair.primary.folder},{pair.standby.folder}"
    address = f"postgresql://turnwire@{name}?host={hosts}&target_session_attrs={wanted}"
    async with PostgresStore.open(address, uses_callers_time=True, patience=30) as store:
        talk = await begin(store)
        await talk.say("a")
        await pair.stay_behind()
        epoch = store.epoch
        pair.primary.kill()
        pair.standby.promote()
        with pytest.raises(Fenced):
            await talk.say("b")
        assert store.epoch != epoch
        assert await texts(store, "c") == ["a"]


async def test_one_new_connection_is_enough_to_leave_an_old_primary_that_still_answers(
    pair: Pair,
) -> None:
    async with (
        Proxy(pair.address) as proxy,
        PostgresStore.open(proxy.address, uses_callers_time=True, readers=1) as store,
    ):
        talks = [await begin(store, f"c{number}") for number in range(8)]
        for talk in talks:
            await talk.say("a")
        await pair.stay_behind()
        pair.standby.promote()
        proxy.lead_to(pair.standby_address)  # the connections that are open stay where they are
        before = await pair.heads()
        await store._reader._pool.expire_connections()
        await store.conversations()  # a new connection reads
        for talk in talks:
            with pytest.raises(Fenced):
                await talk.say("b")
        assert await pair.heads() == before


async def test_an_old_primary_is_refused_once_its_standby_was_promoted(pair: Pair) -> None:
    async with (
        Proxy(pair.address) as proxy,
        PostgresStore.open(proxy.address, uses_callers_time=True, patience=1) as store,
    ):
        await begin(store)
        await pair.stay_behind()
        pair.standby.promote()
        proxy.lead_to(pair.standby_address)
        proxy.cut_all()
        await until_writable(store)
        epoch = store.epoch
        proxy.lead_to(pair.address)
        proxy.cut_all()
        await until_refused(store.check_writable)
        await until_refused(store.conversations)
        proxy.lead_to(pair.standby_address)
        await until_writable(store)
        assert store.epoch == epoch


async def until_refused(call: Callable[[], Awaitable[object]]) -> None:
    """Waits for the reason; until then, connections that were cut are the reason."""
    said = ""
    while "Stop the old primary" not in said:
        with pytest.raises(StorageUnavailable) as refusal:
            await call()
        said = str(refusal.value)


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_call_in_doubt_is_looked_for_on_the_promoted_standby(
    is_there: bool, pair: Pair
) -> None:
    async with (
        Proxy(pair.address) as proxy,
        PostgresStore.open(proxy.address, uses_callers_time=True, patience=30) as store,
    ):
        await store.create(NewConversation("first", "demo", at()))
        if not is_there:
            await pair.stay_behind()
        proxy.cut("answer", with_bytes=b"COMMIT")
        proxy.lead_to("postgresql://u@/x?host=/nowhere")
        creating = asyncio.create_task(store.create(NewConversation("c", "demo", at())))
        await proxy.was_cut.wait()
        if is_there:
            await pair.stay_behind()
        pair.standby.promote()
        proxy.lead_to(pair.standby_address)
        await creating
        names = [row.conversation_id for row in await store.conversations()]
        assert sorted(names) == ["c", "first"]


# --- clients --------------------------------------------------------------------------------------


async def test_clients_of_a_running_engine_are_reset_by_a_promotion(pair: Pair) -> None:
    async with (
        Proxy(pair.address) as proxy,
        PostgresStore.open(proxy.address) as store,
        Engine(
            store, {"demo": DemoAgent(delay=0)}, settings=EngineSettings(lease=1, recheck=0.1)
        ) as engine,
    ):
        talk = await engine.create("demo", conversation_id="c")
        async with Watcher(talk) as seen:
            await talk.send("hello")
            await seen.until(f.AssistantComplete)
        await pair.stay_behind()
        async with Watcher(talk) as seen:
            await talk.send("hello again")
            await seen.until(f.AssistantComplete)
            row = await store.conversation("c")
            assert row is not None
            epoch, head = store.epoch, row.head
            pair.standby.promote()
            proxy.lead_to(pair.standby_address)
            proxy.cut_all()
            with pytest.raises(FollowAgain, match="replaced"):
                await seen.until(f.SessionReset)
        async with Watcher(talk, last_sequence=head, epoch=epoch) as seen:
            assert reset_of(seen).payload.reason == "epoch"
        assert store.epoch != epoch
        row = await store.conversation("c")
        assert row is not None
        assert row.head < head
        async with Watcher(talk, last_sequence=head) as seen:
            assert reset_of(seen).payload.reason == "beyond_head"
        async with Watcher(talk) as seen:
            await talk.send("and on")
            await seen.until(f.AssistantComplete)


def reset_of(seen: Watcher) -> f.SessionReset:
    (reset,) = [frame for frame in seen.frames if isinstance(frame, f.SessionReset)]
    return reset
