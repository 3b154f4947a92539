"""Tickets and connections expire by the clock of the server, whatever the callers' clocks say."""

from __future__ import annotations

import time

import pytest

from turnwire.core.times import iso
from turnwire.ports import Connection, Ticket
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.store_samples import begin

HOURS = 2 * 3600_000
DIGEST = b"1" * 32


@pytest.mark.parametrize("wrong", [-HOURS, HOURS])
async def test_a_ticket_is_valid_on_a_machine_whose_clock_is_wrong(
    wrong: int, postgres: str
) -> None:
    now = time.time_ns() // 1_000_000
    async with PostgresStore.open(postgres) as store:
        ticket = Ticket("socket", "ann", "t-1", now + 60_000)
        assert await store.add_ticket(ticket, DIGEST, now=now)
        await store.forget_tokens(before=now + wrong)
        taken = await store.take_ticket(DIGEST, "socket", now=now + wrong)
        assert taken is not None
        # By the clock of the caller it has the same time left.
        assert 0 <= ticket.expires_at + wrong - taken.expires_at < 60_000


async def test_a_ticket_expires_by_the_clock_of_the_server(postgres: str) -> None:
    now = time.time_ns() // 1_000_000
    async with PostgresStore.open(postgres) as store:
        assert await store.add_ticket(Ticket("socket", "ann", "t-1", now), DIGEST, now=now)
        assert await store.take_ticket(DIGEST, "socket", now=now - HOURS) is None
        assert await store.add_ticket(Ticket("socket", "ann", "t-1", now), DIGEST, now=now)
        other = Ticket("socket", "ann", "t-1", now + 60_000)
        assert await store.add_ticket(other, b"2" * 32, now=now, most=1), "the first has expired"


@pytest.mark.parametrize("wrong", [-HOURS, HOURS])
async def test_a_connection_of_a_machine_whose_clock_is_wrong_is_alive(
    wrong: int, postgres: str
) -> None:
    now = time.time_ns() // 1_000_000
    async with PostgresStore.open(postgres) as store:
        await begin(store)
        reported = iso(now + wrong)
        await store.connected([Connection("x", "c", "one", "client", reported, reported)])
        (found,) = await store.connections("c")
        assert iso(now - 1000) <= found.seen_at <= iso(now + 60_000)
