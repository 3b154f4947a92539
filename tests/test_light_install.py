"""The wheel in its own environment, with the required packages only.

Nothing is fetched: a required package is linked from the environment that runs the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from turnwire.extras import MODULES

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

PROGRAM = """
import asyncio

from turnwire import Client, DemoAgent, Engine, Settings, SqliteStore, frames


async def main():
    async with SqliteStore.open("talk.db") as store, Engine(store, {"demo": DemoAgent()}) as engine:
        reply = await (await engine.create("demo")).ask("think, then use a tool")
        print(reply.text)


asyncio.run(main())
"""

WITHOUT_CLAUDE = """
import asyncio

from turnwire import ClaudeAgent, Engine, SqliteStore


async def main():
    async with SqliteStore.open("talk.db") as store, Engine(store, {"claude": ClaudeAgent()}) as engine:
        await engine.create("claude")


asyncio.run(main())
"""


class Environment:
    """A virtual environment without pip, whose packages are links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (self._packages,) = folder.glob("lib/python*/site-packages")

    def install_wheel(self, wheel: Path) -> None:
        """Installs a wheel alone, with its console scripts."""
        uv = str(Path(sys.executable).parent / "uv")
        install = [uv, "--quiet", "pip", "install", "--offline", "--no-cache", "--no-deps"]
        python = str(self.folder / "bin" / "python")
        subprocess.run([*install, "--python", python, str(wheel)], check=True)

    def link(self, package: Distribution) -> None:
        """Links the modules of a package that is installed here."""
        for part in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
            if not (self._packages / part).exists():
                (self._packages / part).symlink_to(Path(str(package.locate_file(part))))

    def run(self, program: str, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of its `bin`, isolated from the environment of the tests."""
        return subprocess.run(
            [self.folder / "bin" / program, *args],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )


def required(names: list[str]) -> Iterator[Distribution]:
    """Returns the packages required under these names, with their own requirements."""
    for line in names:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            package = distribution(requirement.name)
            yield package
            yield from required(package.requires or [])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    folder = str(tmp_path_factory.mktemp("wheel"))
    (built,) = WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
    return Path(built)


def environment(wheel: Path, folder: Path, *extras: str) -> Environment:
    made = Environment(folder)
    made.install_wheel(wheel)
    lines = [*PROJECT["dependencies"], *(line for each in extras for line in EXTRAS[each])]
    for package in required([line for line in lines if not line.startswith("turnwire")]):
        made.link(package)
    return made


@pytest.fixture(scope="module")
def bare(wheel: Path) -> Environment:
    """The environment of `pip install turnwire`."""
    return environment(wheel, wheel.parent / "bare")


@pytest.fixture(scope="module")
def serving(wheel: Path) -> Environment:
    """The environment of `pip install 'turnwire[server]'`."""
    return environment(wheel, wheel.parent / "serving", "server")


@pytest.fixture(scope="module")
def talking(wheel: Path) -> Environment:
    """The environment of `pip install 'turnwire[cli]'`."""
    return environment(wheel, wheel.parent / "talking", "server", "cli")


def test_the_library_needs_three_packages() -> None:
    names = sorted({each.name.lower() for each in required(PROJECT["dependencies"])})
    assert names == ["apsw", "msgspec", "websockets"]


def test_a_conversation_in_a_program_needs_no_extra(bare: Environment) -> None:
    ran = bare.run("python", "-c", PROGRAM)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "There are **three** of them" in ran.stdout


def test_the_checks_for_agents_and_stores_need_no_extra(bare: Environment) -> None:
    ran = bare.run("python", "-c", "from turnwire.testing import *; from turnwire.client import *")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_command_without_its_extra_names_the_extra_in_one_line(bare: Environment) -> None:
    for args in ([], ["--help"], ["serve"]):
        ran = bare.run("turnwire", *args)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr == (
            "turnwire: the command line needs click, prompt_toolkit, rich, starlette, uvicorn, which "
            "this installation does not have. Install it: pip install 'turnwire[cli]'\n"
        )


def test_the_command_with_the_server_alone_asks_for_its_own_extra(serving: Environment) -> None:
    ran = serving.run("turnwire", "--help")
    assert ran.returncode == 1
    assert "needs prompt_toolkit, rich, which" in ran.stderr
    assert ran.stderr.endswith("pip install 'turnwire[cli]'\n")


def test_the_command_with_its_extra_talks(talking: Environment) -> None:
    ran = talking.run("turnwire", "run", "--agent", "demo", "--data-dir", "data", "hello")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout


@pytest.mark.parametrize("home", ["turnwire", "turnwire.server"])
def test_create_app_without_the_server_names_the_extra(home: str, bare: Environment) -> None:
    ran = bare.run("python", "-c", f"from {home} import create_app")
    assert ran.returncode == 1
    error = ran.stderr.splitlines()[-1]
    assert re.fullmatch(
        rf"ImportError: {home}.create_app needs starlette, which is not installed. "
        r"Install it: pip install 'turnwire\[server\]'",
        error,
    )


def test_create_app_needs_only_the_server(serving: Environment) -> None:
    ran = serving.run("python", "-c", "from turnwire import create_app; create_app()")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_agent_claude_without_its_extra_names_the_extra(bare: Environment) -> None:
    ran = bare.run("python", "-c", WITHOUT_CLAUDE)
    assert ran.returncode == 1
    assert ran.stderr.endswith(
        "The Claude Agent SDK is not installed. Install it: pip install 'turnwire[claude]'\n"
    )


def test_every_module_of_an_extra_is_known_by_its_extra() -> None:
    brought = {
        re.split(r"[^\w-]", line)[0]
        .removesuffix("-py")
        .removesuffix("-slim")
        .replace("-", "_"): extra
        for extra in ("server", "cli", "nats", "postgres", "pydantic-ai", "valkey")
        for line in EXTRAS[extra]
        if not line.startswith("turnwire")
    }
    del brought["uvloop"]  # the server is as good without it, only slower
    assert brought == MODULES


def test_the_extra_all_contains_all_other_extras() -> None:
    (everything,) = EXTRAS["all"]
    named = set(Requirement(everything).extras)
    named |= {extra for line in EXTRAS["cli"] for extra in Requirement(line).extras}
    assert named == EXTRAS.keys() - {"all"}
