"""The engine publishes happenings; only projectors know the messages of a protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import turnwire

ENGINE = Path(turnwire.__file__).parent / "engine"
MODULES = sorted(ENGINE.rglob("*.py"))
WORDS = re.compile(r"rpc|\bListener\b|\bSpoken\b", re.IGNORECASE)

# Publishing: whatever the followers speak, these know none of their words.
PUBLISHING = [
    "actor/actor.py",
    "actor/agent_events.py",
    "actor/partial_saving.py",
    "fanout/channel.py",
    "fanout/channels.py",
    "fanout/follow.py",
    "fanout/remote_follow.py",
    "fanout/replay.py",
]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_module_of_the_engine_names_rpc(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    named = [f"{path.name}:{n}: {line}" for n, line in enumerate(lines, 1) if WORDS.search(line)]
    named = [line for line in named if "has not spoken since" not in line]  # a sentence
    assert named == []


@pytest.mark.parametrize("name", PUBLISHING)
def test_the_engine_publishes_no_protocol_messages(name: str) -> None:
    assert "turnwire.dialects" not in (ENGINE / name).read_text(encoding="utf-8")


VALIDATOR = ENGINE.parent / "dialects" / "v2" / "validator"
MAKES_FRAMES = re.compile(
    r"turnwire\.(core\.(conversation(?!\.rules)|growing|happenings)|engine)|v2\.(project|partials|sent|opening)"
)


@pytest.mark.parametrize("path", sorted(VALIDATOR.glob("*.py")), ids=lambda path: path.name)
def test_the_validator_of_v2_imports_nothing_that_makes_frames(path: Path) -> None:
    assert not MAKES_FRAMES.search(path.read_text(encoding="utf-8"))
