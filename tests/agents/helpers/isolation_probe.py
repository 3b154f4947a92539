"""A data directory with secrets, and a command that tries to read them in every way."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.agents.helpers.processes import SECONDS
from turnwire.agents.isolation import choose
from turnwire.agents.process import GuardedProcess, plain_environment
from turnwire.errors import TurnwireError
from turnwire.ports import Isolation

WAYS = ["namespaces", "landlock", "user"]
UNPRIVILEGED = "nobody"  # a user of every machine that has no rights
SECRET = "a-secret-of-the-owner"
FILES = ["owner-token", "turnwire.db", "turnwire.db-wal", "backups/yesterday.db"]


class Place:
    """A data directory and a directory to work in, which every user of this machine can enter."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.data = top / "data"
        self.work = top / "work"
        self.data.mkdir(mode=0o700)
        self.work.mkdir()
        self.work.chmod(0o777)  # mkdir's mode is cut by the umask
        for name in FILES:
            (self.data / name).parent.mkdir(exist_ok=True)
            (self.data / name).write_text(f"{SECRET}\n")

    def is_untouched(self) -> bool:
        files = [self.data / name for name in FILES]
        return all(each.exists() and each.read_text() == f"{SECRET}\n" for each in files)

    @property
    def attempts(self) -> str:
        """Returns a shell script that tries to read and to change the data directory."""
        files = " ".join(f"'{self.data / name}'" for name in FILES)
        return f"""
ls -la {self.data}
for file in {files}; do
    cat $file; cp $file copied && cat copied; ln $file linked && cat linked
    ln -s $file soft; cat soft; rm -f soft
    echo changed > $file; truncate -s 0 $file; mv $file moved && cat moved; rm -f $file
done
mv {self.data} elsewhere && cat elsewhere/owner-token
cat /proc/self/root{self.data}/owner-token
echo new > {self.data}/new
"""


@contextmanager
def place() -> Iterator[Place]:
    """Makes the directories in /tmp: those of pytest and TMPDIR may be closed to other users."""
    top = Path(tempfile.mkdtemp(prefix="turnwire-isolation-", dir="/tmp"))
    top.chmod(0o755)
    try:
        yield Place(top.resolve())
    finally:
        shutil.rmtree(top)


def isolation(by: str, data: Path) -> Isolation | None:
    """The isolation in this way; none where this machine does not offer it, which it has to say."""
    try:
        chosen = choose(
            "auto" if by == "user" else by,  # type: ignore[arg-type]
            data,
            UNPRIVILEGED if by == "user" else "",
        )
    except TurnwireError as refused:
        expected = "started as root" if by == "user" else "cannot be isolated on this machine"
        assert expected in refused.message  # noqa: PT017  # it may be raised or not
        return None
    assert chosen.isolation is not None
    assert chosen.isolation.by == by
    return chosen.isolation


async def said_by(
    command: Sequence[str], cwd: Path, isolation: Isolation | None, **how: Any
) -> str:
    """Returns the whole output of a guarded command."""
    env = plain_environment(isolation)
    process = await GuardedProcess.start(command, cwd=str(cwd), env=env, isolation=isolation, **how)
    heard = b""
    async with asyncio.timeout(SECONDS):
        while piece := await process.read():
            heard += piece
    await process.end()
    return heard.decode(errors="replace")


@contextmanager
def stranger() -> Iterator[int]:
    """A process of the same user that is not the agent's, with a secret in its environment."""
    env = {**os.environ, "OWNERS_SECRET": SECRET}
    process = subprocess.Popen(["sleep", "1000"], env=env)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()
