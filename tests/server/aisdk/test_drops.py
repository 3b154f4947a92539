"""A `Chat` of the AI SDK whose connection is dropped again and again has everything, once."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.server.aisdk.helpers.packages import run
from tests.server.aisdk.test_chat import history
from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from tests.turn_streams.aisdk.helpers.streams import shown

DROPS = 100


@pytest.mark.parametrize(
    ("version", "kind"), [(5, "version-5"), (6, "http"), (7, "http"), (7, "socket")]
)
def test_a_hundred_drops_lose_nothing_and_double_nothing(
    version: int, kind: str, tmp_path: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = await run("drops.mjs", version, server.url, server.token, kind, str(DROPS))
        assert told["dropped"] >= DROPS
        assert sum(chat["resumes"] for chat in told["chats"]) >= DROPS // 2
        assert any(chat["isStreamed"] for chat in told["chats"]), "a stream made the message"
        for chat in told["chats"]:
            here = await history(http, chat["id"])
            assert [each["role"] for each in here] == ["user", "assistant"], "a message counts once"
            assert [each["id"] for each in chat["messages"]] == [each["id"] for each in here]
            assert shown(chat["messages"][1]) == shown(here[1])

    play(tmp_path, scene)
