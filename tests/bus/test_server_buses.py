"""The buses on a server keep the promises of the port, on real servers."""

from __future__ import annotations

import asyncio

import pytest

from tests.bus.servers import BusServer, NatsServer, ValkeyServer
from tests.stores.postgres.server import Server
from turnwire.bus.nats import NatsBus
from turnwire.bus.postgres import PostgresBus
from turnwire.bus.sealed import SealedBus
from turnwire.bus.valkey import ValkeyBus
from turnwire.testing import check_bus

SECRET = b"a secret of the nodes"


async def restarted(server: BusServer) -> None:
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_nats_keeps_its_promises(nats_server: NatsServer, is_sealed: bool) -> None:
    def make() -> NatsBus | SealedBus:
        bus = NatsBus(nats_server.url)
        return SealedBus(bus, SECRET) if is_sealed else bus

    await check_bus(make, cut=lambda: restarted(nats_server), patience=30)


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_valkey_keeps_its_promises(valkey_server: ValkeyServer, is_sealed: bool) -> None:
    def make() -> ValkeyBus | SealedBus:
        bus = ValkeyBus(valkey_server.url)
        return SealedBus(bus, SECRET) if is_sealed else bus

    await check_bus(make, cut=lambda: restarted(valkey_server), patience=30)


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_postgres_keeps_its_promises(
    postgres_server: Server, empty_database: str, is_sealed: bool
) -> None:
    async def cut() -> None:
        await postgres_server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'turnwire bus'"
        )

    def make() -> PostgresBus | SealedBus:
        bus = PostgresBus(empty_database)
        return SealedBus(bus, SECRET) if is_sealed else bus

    await check_bus(make, cut=cut, patience=30)


async def test_valkey_with_few_rights_keeps_its_promises() -> None:
    rights = "default on nopass resetchannels &turnwire:* -@all +publish +subscribe +ping"
    server = ValkeyServer("--user", *rights.split())
    try:
        await check_bus(lambda: ValkeyBus(server.url), cut=lambda: restarted(server), patience=30)
    finally:
        server.stop()
