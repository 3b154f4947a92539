"""The real Claude Code over RPC: the options of `connect`, and the streamed messages."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.agents.claude.helpers.real_claude import touch
from tests.helpers.recorded_streams import check_order
from tests.server.helpers.servers import serving
from turnwire.agents.claude import ClaudeAgent
from turnwire.dialects import rpc
from turnwire.testing.model_api import ModelApi, Say, claude_environment


async def test_a_system_prompt_a_permission_and_a_session_that_is_taken_up_again(
    tmp_path: Path,
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    async with ModelApi(Say([touch("ann.txt")]), "Hello Ann.", "You are Ann.") as api:
        agent = ClaudeAgent(
            {"model": "claude-sonnet-4-5"},
            env=claude_environment(api.url, home),
            hold=60,
            titles=False,
            start_seconds=180.0,
        )
        async with serving(
            tmp_path / "data", agents={"claude": agent}, agent="claude", roots=[str(work)]
        ) as server:
            chosen = {"cwd": str(work), "system_prompt": "You are a parrot called Polly."}
            async with server.rpc() as client:
                client.patience = 180.0  # on a busy machine the real program takes long to start
                joined = await client.join(**chosen)
                assert "system_prompt" in joined["capabilities"]["options"]
                query = await client.call("query", prompt="I am Ann: write it down.")
                wanted = await client.called("requestPermission")
                assert wanted["params"]["input"]["command"].startswith("touch ann.txt")
                await client.send({"id": wanted["id"], "result": {"decision": "allow"}})
                frames = await client.stream(query)
                check_order(_events(client.streamed("stream_event")))
                result = frames[-1]["data"]
                assert (result["subtype"], result["is_error"]) == ("success", False)
                assert (work / "ann.txt").exists()
                [call] = [
                    block
                    for said in client.streamed("assistant")
                    for block in said["message"]["content"]
                    if block["type"] == "tool_use"
                ]
                assert (call["id"], call["toolType"]) == ("bash_1", "CLAUDE_BASH")
                assert "Polly" in str(api.requests[0].body["system"])

                await client.result("disconnect")
                again = await client.join(resume=result["session_id"], **chosen)
                assert again["conversation"] != joined["conversation"], "a new one goes on with it"
                frames = await client.query("Who am I?")
                assert frames[-1]["data"]["result"] == "You are Ann."
                assert "I am Ann: write it down." in str(api.requests[-1].messages)
                assert "Polly" in str(api.requests[-1].body["system"])


def _events(streamed: list[dict[str, object]]) -> list[rpc.RpcMessage]:
    return [rpc.decode(msgspec.json.encode(each)) for each in streamed]
