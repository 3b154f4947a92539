"""`turnwire nodes`: lists the processes that share the data directory or the database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.home import Home, NothingYet, data_dir_option, run_async
from turnwire.cli.terminal.words import counted, plain

if TYPE_CHECKING:
    from turnwire.ports import NodeRow

__all__ = ["command", "facts"]


@click.command("nodes")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per process.")
@data_dir_option
def command(*, home: Home, as_json: bool) -> None:
    """List the processes that run conversations, and their load.

    A process renews its lease every few seconds. When the lease of a process has expired, the others
    take over its conversations. The lag is the time by which its event loop was late at the last
    renewal, and the time that the store took for it.
    """
    try:
        nodes = [facts(node) for node in run_async(_nodes(home))]
    except NothingYet:
        nodes = []
    if as_json:
        import msgspec

        for node in nodes:
            click.echo(msgspec.json.encode(node))
    elif not nodes:
        click.echo(f"No process runs conversations now. Start one: {home.command('serve')}")
    else:
        _print(nodes)


async def _nodes(home: Home) -> list[NodeRow]:
    async with home.store() as store:
        return await store.nodes()


def facts(node: NodeRow) -> dict[str, Any]:
    """Returns a node as the fields of its JSON line."""
    from turnwire.engine.ownership.owners import has_died, process_of

    process = process_of(node.owner)
    left = node.lease_until / 1000 - time.time()
    load = node.load
    state = "ended" if has_died(node.owner) else "silent" if left <= 0 else "alive"
    if state == "alive" and load.get("draining"):
        state = "draining"
    return {
        "node": node.node,
        "host": process.host if process else None,
        "pid": process.pid if process else None,
        "state": state,  # alive, draining: about to stop, silent: does not renew its lease, ended
        "started_at": node.started_at,
        "lease_seconds": round(left, 1),  # until the lease expires; negative: since it has expired
        "conversations": load.get("conversations", 0),  # that it owns
        "running_turns": load.get("turns", 0),
        "running_agents": load.get("agents", 0),
        "followers": load.get("followers", 0),  # of any conversation, connected here
        "sockets": load.get("sockets", 0),
        "lag_ms": load.get("lag_ms", 0),
        "store_ms": load.get("store_ms", 0),
        "bus": node.versions.get("bus"),  # nodes with different ones do not hear each other
        "agents": node.agents,
        "versions": node.versions,
        "inbox": node.inbox,
        "owner": node.owner,
    }


_STYLES = {"alive": "green", "draining": "cyan", "silent": "yellow", "ended": "red"}


def _print(nodes: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from turnwire.cli.terminal.table import Page, ago

    page = Page()
    width = max(len(plain(node["node"])) for node in nodes)
    for node in nodes:
        state, seconds = node["state"], node["lease_seconds"]
        lease = f"lease {seconds:.0f} s" if seconds > 0 else f"lease expired {-seconds:.0f} s ago"
        runs = ", ".join(
            [
                counted(node["conversations"], "conversation"),
                counted(node["running_turns"], "running turn"),
                counted(node["running_agents"], "running agent"),
                counted(node["sockets"], "socket"),
            ]
        )
        lag = f"lag {node['lag_ms']} ms, store {node['store_ms']} ms"
        agents = ", ".join(map(plain, node["agents"])) or "no agents"
        left = Text.assemble(
            (f"{plain(node['node']):<{width}}", "bold"),
            *("  ", (f"{state:<8}", _STYLES[state])),
            f"  {runs}; {lease}; {lag}; {agents}",
        )
        version = node["versions"].get("turnwire", "unknown")
        where = f"process {node['pid']} on {node['host']}, " if node["host"] else ""
        bus = f"bus {plain(node['bus'])}, " if node["bus"] else ""
        page.line(left, f"{where}{bus}version {version}, {ago(node['started_at'])}")
    buses = {node["bus"] for node in nodes if node["bus"] and node["state"] != "ended"}
    if len(buses) > 1:
        named = ", ".join(sorted(map(plain, buses)))
        said = f"These processes use different buses ({named}), so they do not hear each other."
        click.secho(f"{said} Start all of them with the same --bus.", fg="yellow", err=True)
