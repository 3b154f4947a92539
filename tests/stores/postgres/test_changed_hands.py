"""Commits in doubt whose conversation has another owner when the doubt is settled."""

from __future__ import annotations

import asyncio

import pytest

from tests.stores.postgres.faults import Lost, Proxy
from turnwire.core.conversation.effects import Spend
from turnwire.ports import Fenced
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.store_samples import LEASE, NOW, Writing, begin


class Gate(Proxy):
    """A proxy through which no client connects while it is closed."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def __aenter__(self) -> Gate:
        await super().__aenter__()
        return self

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.is_open.wait()
        await super()._connected(reader, writer)


@pytest.mark.parametrize("claims", [1, 2])
@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_commit_that_changes_no_state_is_answered_truthfully_after_other_claims(
    lost: Lost, claims: int, postgres: str
) -> None:
    async with (
        Gate(postgres) as proxy,
        PostgresStore.open(postgres, uses_callers_time=True) as two,
        PostgresStore.open(proxy.address, uses_callers_time=True, writers=1) as one,
    ):
        talk = await begin(one, user="ann")
        await one.commit(talk.prepare(Spend(1, 0.25)))  # the statement is prepared
        proxy.is_open.clear()
        proxy.cut(lost)
        in_doubt = asyncio.create_task(one.commit(talk.prepare(Spend(1, 0.5))))
        while not proxy.cuts:
            await two.check_writable()  # gives the event loop to the others
        later = NOW + 2 * LEASE
        claim = await two.claim("c", "the next owner", now=later, lease=LEASE)
        if claims == 1:
            await Writing(two, claim, talk.state).say("by the next owner")
        else:
            await two.claim("c", "a third owner", now=later + 2 * LEASE, lease=LEASE)
        proxy.is_open.set()
        (answer,) = await asyncio.gather(in_doubt, return_exceptions=True)
        is_written = lost == "answer"
        assert isinstance(answer, type(None) if is_written else Fenced)
        assert await two.spent("ann") == (0.75 if is_written else 0.25)
