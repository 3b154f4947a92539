"""Functions that the tests of frames share: run a server, send a frame, check the error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import structs

from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.v2_client import Client
from turnwire.agents.demo import DemoAgent
from turnwire.core.error_codes import ERRORS
from turnwire.ports import AgentCapabilities

Scene = Callable[[Serving], Awaitable[None]]


def play(path: Path, scene: Scene, **settings: Any) -> None:
    async def run() -> None:
        async with serving(path, **settings) as server:
            await scene(server)

    asyncio.run(run())


async def refused(client: Client, kind: str, code: str, own_id: str = "x", **payload: Any) -> Any:
    """Sends a frame that must be refused with this code. Returns its `data`."""
    await client.send(kind, own_id, **payload)
    error = (await client.answer(own_id))["payload"]
    check_error(error, code)
    return error.get("data", {})


def check_error(error: dict[str, Any], code: str) -> None:
    """Checks that an error has the documented fields."""
    assert error["code"] == code, error
    assert error["message"]
    assert error["what_to_do"] == ERRORS[code].what_to_do
    assert error["retryable"] is ERRORS[code].retryable


class Away(DemoAgent):
    """An agent that is unavailable while `away` is set."""

    away = False

    def unavailable(self) -> str | None:
        return "It has gone fishing. Wait for it." if self.away else None


class Costly(DemoAgent):
    """An agent whose turns may cost something."""

    capabilities = structs.replace(DemoAgent.capabilities, is_free=False)


class Broken(DemoAgent):
    """An agent that raises an error while it is broken."""

    broken = False

    def unavailable(self) -> str | None:
        if self.broken:
            raise ZeroDivisionError
        return None


class Able(DemoAgent):
    """Has a choice of models and modes; lists a command that it does not have."""

    capabilities = AgentCapabilities(
        commands=["session.set_model", "session.set_permission_mode", "user.rewind"],
        models=["default", "m-1"],
        permission_modes=["default", "plan"],
        questions_survive=True,
    )
