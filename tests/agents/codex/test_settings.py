"""Settings of the real Codex: what is the default, and how a conversation goes back to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.codex.helpers.real_codex import IS_INSTALLED, CodexStage, stage
from turnwire.dialects.v2 import frames as f

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")

MODELS: dict[str, Any] = {"models": ["gpt-5.2/high", "gpt-5.2"]}
EFFORT = 'model_reasoning_effort = "low"\n'
WORKSPACE = """\
sandbox_workspace_write.network_access = true
sandbox_workspace_write.writable_roots = ["/srv/extra"]
"""


def asked(it: CodexStage) -> tuple[str, str | None]:
    """Returns the model and the effort of the last request to the model."""
    body = it.api.requests[-1].body
    return body["model"], (body.get("reasoning") or {}).get("effort")


@pytest.mark.parametrize("toml", ["", EFFORT], ids=["no effort", "an effort"])
async def test_back_to_the_default_is_the_model_and_the_effort_of_the_configuration(
    tmp_path: Path, toml: str
) -> None:
    async with stage(tmp_path, *["Hi."] * 4, toml=toml, **MODELS) as it:
        await it.says("one")
        began = asked(it)
        await it.talk.set_model("gpt-5.2/high")
        await it.says("two")
        assert asked(it) == ("gpt-5.2", "high")
        await it.talk.set_model(None)
        await it.says("three")
        assert asked(it) == began
        assert not it.news("model_changed"), "a person chose it, and not Codex"
        await it.stop()
        await it.start_again()
        await it.says("four")
        assert asked(it) == began


async def test_a_default_that_was_chosen_while_codex_was_closed_reaches_the_resumed_thread(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, *["Hi."] * 3, toml=EFFORT, **MODELS) as it:
        await it.says("one")
        await it.talk.set_model("gpt-5.2/high")
        await it.says("two")
        await it.stop()
        await it.start_again()
        await it.talk.set_model(None)
        await it.says("three")
        assert asked(it) == ("gpt-5.5", "low")


async def test_an_effort_stays_after_a_restart_and_a_model_without_one_has_its_own(
    tmp_path: Path,
) -> None:
    instructions = {"options": {"instructions": "Speak like a pirate."}}
    async with stage(tmp_path, *["Hi."] * 4, conversation=instructions, **MODELS) as it:
        await it.says("one")
        await it.talk.set_model("gpt-5.2/high")
        for text in ("two", "three"):
            await it.stop()
            await it.start_again()
            await it.says(text)
            assert asked(it) == ("gpt-5.2", "high")
            assert (await it.talk.status()).model == "gpt-5.2/high"
        await it.talk.set_model("gpt-5.2")
        await it.says("four")
        assert asked(it) == ("gpt-5.2", None)
        assert "Speak like a pirate." in str(it.api.requests[-1].body)


async def test_back_to_the_default_mode_is_the_sandbox_of_the_configuration(tmp_path: Path) -> None:
    async with stage(tmp_path, "One.", toml=WORKSPACE) as it:
        await it.says("one")
        await it.talk.set_permission_mode("read-only")
        await it.talk.set_permission_mode("default")
        await it.seen.until(
            f.SessionSystemEvent, lambda frame: settings_in(frame).get("sandboxPolicy") == WRITES
        )
        assert (await it.talk.status()).permission_mode == "default"


WRITES = {
    "type": "workspaceWrite",
    "writableRoots": ["/srv/extra"],
    "networkAccess": True,
    "excludeTmpdirEnvVar": False,
    "excludeSlashTmp": False,
}


def settings_in(frame: f.SessionSystemEvent) -> dict[str, Any]:
    """Returns the settings that Codex reports. Returns nothing for any other news."""
    if frame.payload.subtype != "thread_settings_updated":
        return {}
    found: dict[str, Any] = msgspec.json.decode(frame.payload.data)["params"]["threadSettings"]
    return found
