"""Fixtures: one server of each kind for a run of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bus.servers import NatsServer, ValkeyServer


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    """A NATS server for all tests of this process."""
    server = NatsServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """A Valkey server for all tests of this process."""
    server = ValkeyServer()
    yield server
    server.stop()
