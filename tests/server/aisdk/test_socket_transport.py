"""The `WebSocketChatTransport` of npm `ai` 7 on its socket. It needs npm."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.server.aisdk.helpers.packages import run
from tests.server.aisdk.test_chat import history, parts
from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from tests.turn_streams.aisdk.helpers.streams import shown


def test_the_transport_talks_answers_forks_and_resumes(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = await run("socket_chat.mjs", 7, server.url, server.token)
        assert told["errors"] == []
        assert told["status"] == "ready"
        first, asked = told["talked"][1], told["talked"][3]
        assert {part["state"] for part in parts(first, "dynamic-tool")} == {"output-available"}
        assert parts(asked, "data-question")[0]["data"]["answer"] == "Blue"
        assert parts(told["again"][3], "data-question")[0]["data"]["state"] == "open", (
            "it is a fork"
        )
        for name, messages in (("quick", told["last"]), ("slow", told["resumed"])):
            here = await history(http, name)
            assert [each["id"] for each in messages] == [each["id"] for each in here]
            streamed, kept = messages[1::2], here[1::2]
            for before, after in zip(streamed, kept, strict=True):
                # The first answers were streamed by the conversation that was forked.
                before["metadata"]["turnwire"].pop("conversation")
                after["metadata"]["turnwire"].pop("conversation")
                assert shown(before) == shown(after)
        assert len(told["resumed"][-1]["parts"]) > told["begun"]

    play(tmp_path, scene)
