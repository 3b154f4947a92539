"""Makes a bus by its address."""

from __future__ import annotations

from typing import Any

from turnwire.bus.address import BadBusAddress
from turnwire.ports.bus import Bus

__all__ = ["open_bus"]

_FORMS = (
    "postgresql://, nats://, tls:// (NATS), valkey://, valkeys://, redis://, rediss://, unix://"
)


def open_bus(url: str, *, cluster: str = "main", **options: Any) -> Bus:
    """Returns the bus of an address. Its method `open` connects.

    | address | bus |
    |---|---|
    | `postgresql://user@host/database` | PostgreSQL, LISTEN and NOTIFY |
    | `nats://host:4222`, `tls://host:4222` | NATS |
    | `valkey://host:6379`, `redis://`, with TLS `valkeys://`, `rediss://` | Valkey or Redis |
    | `valkey+unix:///path/of/socket` | Valkey or Redis on this host |
    | `unix:///directory` | Unix sockets in this directory, for processes of one host |

    Nodes with the same `cluster` hear each other. It has letters, digits, `_` and `-` only.
    Raises BadBusAddress, and TurnwireError if the extra of the bus is not installed.
    """
    if not cluster.replace("_", "").replace("-", "").isalnum() or not cluster.isascii():
        raise BadBusAddress("The name of a cluster has letters, digits, `_` and `-` only.")
    scheme = url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        from turnwire.bus.postgres import PostgresBus

        return PostgresBus(url, cluster=cluster, **options)
    if scheme in ("nats", "tls"):
        from turnwire.bus.nats import NatsBus

        return NatsBus(url, cluster=cluster, **options)
    if scheme in ("valkey", "valkeys", "redis", "rediss", "valkey+unix"):
        from turnwire.bus.valkey import ValkeyBus

        return ValkeyBus(url, cluster=cluster, **options)
    if scheme == "unix":
        from turnwire.bus.unix import UnixBus

        return UnixBus.at(url, cluster=cluster, **options)
    raise BadBusAddress(f"The address of the bus cannot be read. It begins with one of {_FORMS}.")
