"""Builds a release into `dist/`, tries each package in its own environment, and writes the notes.

    make release

1. Builds wheel, sdist and npm packages.
2. Installs the wheel alone and holds a conversation in a program.
3. Installs the sdist with the extra `cli` and starts the server.
4. Installs the npm packages, talks to that server, and imports the components.
5. Writes `dist/NOTES.md`: the changelog's part about this version.

Publishes nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwire import __version__

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
PINS = ROOT / "requirements"
REPOSITORY = "https://github.com/turnwire/turnwire"
SERVER_DEADLINE = 60.0  # seconds

LIBRARY = """
import asyncio
from turnwire import DemoAgent, Engine, SqliteStore, __version__

async def main():
    async with SqliteStore.open("talk.db") as store, Engine(store, {"demo": DemoAgent()}) as engine:
        reply = await (await engine.create("demo")).ask("think, then use a tool")
        assert "three" in reply.text, reply
    print(__version__)

asyncio.run(main())
"""

BROWSERLESS = """
import { Client } from "@turnwire/client";
import { Conversation } from "@turnwire/react";

if (!Conversation) throw new Error("no components");
const [url, token] = process.argv.slice(2);
const client = new Client(url, { token });
const conversation = client.conversation(await client.create({ agent: "demo" }));
const { turn_id } = await conversation.send("hello");
const view = await conversation.until(({ turns }) => turns.some((turn) => turn.turn_id === turn_id));
if (!view.messages.some((message) => message.role === "assistant")) throw new Error("no answer");
client.close();
"""


# --- notes ----------------------------------------------------------------------------------------


def notes(changelog: str, version: str) -> str:
    """Returns the changelog's part about a version, with links that work outside of the repository.

    Falls back to the part "Unreleased" if the version has none. Raises ValueError if that part is
    missing or empty, too.
    """
    text = re.sub(r"(?m)^\[[^\]]+\]: \S+\n?", "", changelog)  # link targets of the headings
    parts = dict(re.findall(r"(?ms)^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## |\Z)", text))
    body = (parts.get(version) or parts.get("Unreleased") or "").strip()
    if not body:
        raise ValueError(
            f"The changelog has no part about {version}, and no part Unreleased. Add one of them."
        )
    at_tag = f"{REPOSITORY}/blob/v{version}/"
    body = re.sub(r"\]\((?!https?://|#)([^)\s]+)\)", rf"]({at_tag}\1)", body)
    return f"# Turnwire {version}\n\n{body}\n"


# --- packages -------------------------------------------------------------------------------------


def build() -> tuple[Path, Path, list[Path]]:
    """Builds wheel, sdist and npm packages into an empty `dist/`."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    hatchling = Path(sys.executable).parent / "hatchling"
    _run([hatchling, "build", "-t", "wheel", "-t", "sdist", "-d", DIST])
    for package in ("typescript", "react"):
        _run(["npm", "pack", "--silent", "--pack-destination", DIST], ROOT / "clients" / package)
    (wheel,) = DIST.glob("*.whl")
    (sdist,) = DIST.glob("turnwire-*.tar.gz")
    return wheel, sdist, sorted(DIST.glob("*.tgz"))


def install(folder: Path, package: str) -> Path:
    """Installs a package with its requirements in a new virtual environment; returns its `bin`."""
    uv = Path(sys.executable).parent / "uv"
    _run([uv, "venv", "--quiet", "--python", sys.executable, folder])
    pins: list[Path | str] = ["-c", PINS / "base.txt", "-b", PINS / "build.txt"]
    python = folder / "bin" / "python"
    _run([uv, "pip", "install", "--quiet", "--python", python, *pins, package], folder)
    return folder / "bin"


def try_wheel(wheel: Path, folder: Path) -> None:
    """Holds a conversation in a program, with the library alone."""
    bin_ = install(folder, str(wheel))
    said = _run([bin_ / "python", "-c", LIBRARY], folder).strip()
    if said != __version__:
        raise SystemExit(f"{wheel.name} has the version {said}, not {__version__}.")
    ended = subprocess.run([bin_ / "turnwire"], capture_output=True, text=True, check=False)
    if ended.returncode != 1 or "turnwire[cli]" not in ended.stderr:
        raise SystemExit(
            f"{wheel.name}: without the extra `cli`, the command printed: {ended.stderr}"
        )


@contextmanager
def serving(sdist: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Starts the server from the sdist; yields its address and its owner's token."""
    bin_ = install(folder, f"turnwire[cli] @ {sdist.as_uri()}")
    data = folder / "data"
    log = folder / "server.log"
    command: list[Path | str] = [bin_ / "turnwire", "serve", "--port", "0", "--data-dir", data]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as server:
        try:
            address = _wait_for(lambda: re.search(r"http://[\d.:]+", log.read_text()), server, log)
            yield address, (data / "owner-token").read_text().strip()
        finally:
            server.terminate()


def try_npm(packages: list[Path], folder: Path, address: str, token: str) -> None:
    """Talks to the server with the npm packages, installed in their own folder."""
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
    react = ROOT / "clients" / "react" / "node_modules" / "react"
    quiet = ["--silent", "--no-audit", "--no-fund", "--offline"]
    _run(["npm", "install", *quiet, *packages, react], folder)
    (folder / "talk.mjs").write_text(BROWSERLESS)
    _run(["node", "talk.mjs", address, token], folder)


def _run(command: list[Path | str], folder: Path = ROOT) -> str:
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"Failed: {' '.join(map(str, command))}\n{ended.stdout}")
    return ended.stdout


def _wait_for(
    look: Callable[[], re.Match[str] | None], server: subprocess.Popen[bytes], log: Path
) -> str:
    deadline = time.monotonic() + SERVER_DEADLINE
    while server.poll() is None and time.monotonic() < deadline:
        if found := look():
            return found[0]
        time.sleep(0.1)
    raise SystemExit(f"The server did not start:\n{textwrap.indent(log.read_text(), '  ')}")


def main() -> None:
    """Runs all steps, and prints the progress."""
    text = notes((ROOT / "CHANGELOG.md").read_text(), __version__)
    print(f"Building Turnwire {__version__}")
    wheel, sdist, packages = build()
    with tempfile.TemporaryDirectory(prefix="turnwire-release.") as folder:
        print(f"Using {wheel.name}")
        try_wheel(wheel, Path(folder, "wheel"))
        print(f"Using {sdist.name}")
        with serving(sdist, Path(folder, "sdist")) as (address, token):
            print(f"Using {' and '.join(package.name for package in packages)}")
            try_npm(packages, Path(folder, "npm"), address, token)
    (DIST / "NOTES.md").write_text(text)
    print("In dist/: " + ", ".join(sorted(path.name for path in DIST.iterdir())))


if __name__ == "__main__":
    main()
