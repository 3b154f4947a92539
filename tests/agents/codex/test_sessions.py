"""Threads of the real Codex: resumed, forked, reviewed, with other settings, and controls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.codex.helpers.real_codex import IS_INSTALLED, run, stage
from turnwire.core.content import ImageContent, TextContent
from turnwire.core.controls import (
    Commands,
    ContextUsage,
    ContextUsed,
    ListCommands,
    ListModels,
    McpServers,
    McpStatus,
    Models,
    StopTask,
)
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")

SERVER = Path(__file__).parents[1] / "claude" / "helpers" / "mcp_stdio_server.py"
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def test_a_thread_is_resumed_by_another_engine(tmp_path: Path) -> None:
    async with stage(tmp_path, "First.", "Second.") as it:
        await it.says("one")
        await it.stop()
        await it.start_again()
        await it.says("two")
        assert "First." in str(it.api.requests[-1].messages)
        assert it.text[-1] == "Second."


async def test_a_thread_whose_record_is_gone_begins_anew_and_says_so(tmp_path: Path) -> None:
    async with stage(tmp_path, "First.", "Second.") as it:
        await it.says("one")
        await it.stop()
        for file in (it.home / ".codex").rglob("*"):
            if file.is_file() and file.name != "config.toml":
                file.unlink()
        await it.start_again()
        await it.says("two")
        assert it.news("session_lost")
        assert "First." not in str(it.api.requests[-1].messages)


async def test_model_effort_and_permission_mode_are_changed_while_it_runs(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    command = Say([run(f"touch {outside}")])
    agent: dict[str, Any] = {"models": ["gpt-5.5/high"]}
    async with stage(
        tmp_path,
        "First.",
        command,
        "Second.",
        conversation={"permission_mode": "read-only"},
        **agent,
    ) as it:
        await it.says("one")
        await it.talk.set_model("gpt-5.5/high")
        await it.talk.set_permission_mode("full-access")
        await it.says("two")
        assert it.api.requests[-1].body["reasoning"]["effort"] == "high"
        assert outside.exists(), "the command ran without the sandbox"
        assert not it.seen.of(f.AssistantPermissionRequest)


async def test_a_fork_knows_what_was_said_before(tmp_path: Path) -> None:
    async with stage(tmp_path, "First.", "Second.", "Of the fork.") as it:
        await it.says("one")
        await it.says("two")
        first = next(frame for frame in it.seen.of(f.AssistantComplete))
        assert first.payload.after_sequence is not None
        fork = await it.talk.fork(first.payload.after_sequence)
        await fork.ask("three")
        said = str(it.api.requests[-1].messages)
        assert "First." in said
        assert "Second." not in said


async def test_a_review_is_a_turn(tmp_path: Path) -> None:
    review = '{"findings": [], "overall_correctness": "patch is correct", "overall_explanation": "Fine.", "overall_confidence_score": 0.9}'
    async with stage(tmp_path, review, "After it.") as it:
        end = await it.says("/review the plan")
        assert not end.is_error
        told = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
        texts = {each.subtype: each.text for each in told}
        assert texts["entered_review_mode"] == "Review: the plan"
        assert "Fine." in str(texts["exited_review_mode"])
        print("TEXTS", texts, it.text)


async def test_a_review_is_of_a_commit_or_of_the_changes_since_a_branch(tmp_path: Path) -> None:
    review = '{"findings": [], "overall_correctness": "patch is correct", "overall_explanation": "Fine.", "overall_confidence_score": 0.9}'
    async with stage(tmp_path, review, review) as it:
        sha = commit(it.work)
        assert not (await it.says("/review --base main")).is_error
        assert "merge-base" in str(it.api.requests[-1].messages) or sha in str(
            it.api.requests[-1].messages
        )
        assert not (await it.says(f"/review --commit {sha}")).is_error
        assert sha in str(it.api.requests[-1].messages)


def commit(folder: Path) -> str:
    """Makes a repository with one commit. Returns its name."""

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", *who, *arguments]
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-b", "main")
    git("commit", "--allow-empty", "-m", "first")
    return git("rev-parse", "HEAD")


async def test_the_context_is_summarized_and_the_thread_goes_on(tmp_path: Path) -> None:
    async with stage(tmp_path, "First.", "A summary.", "Second.") as it:
        await it.says("one")
        end = await it.says("/compact")
        assert not end.is_error
        told = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
        texts = {each.subtype: each.text for each in told}
        assert "summarized" in str(texts["context_compaction"])
        await it.says("two")
        assert "A summary." in str(it.api.requests[-1].messages)
        assert it.text[-1] == "Second."


async def test_a_picture_reaches_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, "A dot.") as it:
        await it.says([TextContent("what is it?"), ImageContent("image/png", PICTURE)])
        assert "input_image" in str(it.api.requests[-1].messages)


async def test_controls_answer_and_others_are_refused(tmp_path: Path) -> None:
    async with stage(tmp_path, "First.") as it:
        await it.says("one")
        used = (await it.talk.control(ContextUsage())).ack.result
        assert isinstance(used, ContextUsed)
        assert used.total_tokens == 120
        commands = (await it.talk.control(ListCommands())).ack.result
        assert isinstance(commands, Commands)
        assert [each.name for each in commands.commands] == ["review", "compact"]
        with pytest.raises(Refused):
            await it.talk.control(StopTask("x"))


async def test_models_that_may_be_chosen_are_listed_with_the_words_of_codex(tmp_path: Path) -> None:
    models = ["gpt-5.5", "gpt-5.5/low", "unheard-of"]
    async with stage(tmp_path, "First.", models=models) as it:
        await it.says("one")
        listed = (await it.talk.control(ListModels())).ack.result
        assert isinstance(listed, Models)
        assert [each.model for each in listed.models] == ["default", *models]
        usual, plain, low, unknown = listed.models
        assert usual.resolved == "gpt-5.5", "as config.toml says"
        assert plain.description
        assert low.description == plain.description
        assert (low.name or "").endswith(", low")
        assert unknown.description is None


async def test_a_broken_mcp_server_is_not_said_to_be_connected(tmp_path: Path) -> None:
    toml = (
        f"mcp_servers.demo.command = {json.dumps(sys.executable)}\n"
        f"mcp_servers.demo.args = [{json.dumps(str(SERVER))}]\n"
        'mcp_servers.broken.command = "/nowhere/at-all"\n'
    )
    async with stage(tmp_path, "First.", toml=toml) as it:
        await it.says("one")
        told = (await it.talk.control(McpStatus())).ack.result
        assert isinstance(told, McpServers)
        states = {each.name: (each.status, bool(each.tools)) for each in told.servers}
        assert states["demo"] == ("connected", True)
        assert states["broken"] == ("failed", False)
