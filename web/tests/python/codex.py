"""A scripted model for the real Codex, and an agent of ACP. `codex.py DIR` prints the environment."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from turnwire.testing.model_api import (
    ModelApi,
    Reply,
    Say,
    Text,
    Thinking,
    ToolUse,
    codex_environment,
)

ACP_AGENT = Path(__file__).parents[3] / "tests" / "agents" / "acp" / "helpers" / "scripted_agent.py"
PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n+world\n*** End Patch\n"
PLAN = [{"step": "Look around", "status": "completed"}, {"step": "Greet", "status": "in_progress"}]
OPTIONS = [
    {"label": "Red", "description": "like a rose"},
    {"label": "Blue", "description": "like the sky"},
]
QUESTION = {
    "id": "colour",
    "header": "Colour",
    "question": "Which colour?",
    "options": OPTIONS,
}
BEYOND = {
    "cmd": "echo outside",
    "sandbox_permissions": "require_escalated",
    "justification": "Really?",
}


def talk() -> list[Reply]:
    """Plans, runs a command, changes a file, then asks for a permission and a question."""
    return [
        Say([Thinking("A plan is wanted."), ToolUse("update_plan", {"plan": PLAN}, id="plan_1")]),
        Say([Text("I look."), ToolUse("exec_command", {"cmd": "echo one; exit 3"}, id="run_1")]),
        Say([ToolUse("apply_patch", text=PATCH, id="patch_1")]),
        Say([ToolUse("exec_command", BEYOND, id="run_2")]),
        Say([ToolUse("request_user_input", {"questions": [QUESTION]}, id="ask_1")]),
        "Blue it is.",
    ]


async def main() -> None:
    place = Path(sys.argv[1])
    (place / "home").mkdir()
    async with ModelApi(*talk(), aside=None) as api:
        state = {"SCRIPTED_STATE": str(place / "home" / "sessions.json")}
        command = [sys.executable, "-I", str(ACP_AGENT)]
        options = {
            "codex": {"env": codex_environment(api.url, place / "home")},
            "scripted": {"command": command, "env": state},
        }
        print(f"TURNWIRE_AGENT_OPTIONS={json.dumps(options)}")
        print(flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
