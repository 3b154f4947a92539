"""Claude's sessions on another node: only the store carries them there."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.agents.claude.helpers.killed_server import killed_server, start_again
from tests.agents.claude.helpers.real_claude import TALK, ask
from turnwire.testing.model_api import Say


async def test_a_question_of_a_killed_node_is_answered_on_another_one(tmp_path: Path) -> None:
    async with killed_server(tmp_path, Say([ask()]), "Blue it is.", "Gladly.") as (node_a, node_b):
        node_a.tell("send", TALK, "ask me")
        await node_a.until("assistant.request_input")
        await node_a.until("session.state", state="waiting_input", running=False)
        await node_a.kill()
        shutil.rmtree(node_b.home)  # the files of the killed node
        node_b.home = tmp_path / "home_of_b"
        node_b.home.mkdir()

        await start_again(node_b)
        answer = await node_b.talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "tool_result"
        assert not (await node_b.ends()).is_error
        assert "Blue" in node_b.told["ask_1"]
        assert node_b.text == ["Blue it is."]
        assert not (await node_b.says("thanks")).is_error
        assert "ask me" in str(node_b.api.requests[-1].messages)
        assert not node_b.news("session_lost")
