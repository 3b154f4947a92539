"""Serves Turnwire in another application, below /team/chat: mounted.py DIR PORT

With SIGN_IN=1 in the environment the application knows its users by a header.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent

PATH = "/team/chat"


async def user_of(scope: Mapping[str, Any]) -> str | None:
    """Returns the name in the header `X-User`; None for a guest."""
    return dict(scope["headers"]).get(b"x-user", b"").decode() or None


async def main() -> None:
    settings = Settings(
        data_dir=sys.argv[1],
        protocol_v2=True,
        sharing=True,
        made_agents={"demo": DemoAgent(delay=0.002)},
        login_url="/login" if os.environ.get("SIGN_IN") else "",
        logout_url="/logout" if os.environ.get("SIGN_IN") else "",
        authenticate=user_of if os.environ.get("SIGN_IN") else None,
    )
    chat = create_app(settings)
    app = FastAPI(lifespan=chat.lifespan)
    app.mount(PATH, chat)
    app.get("/login")(lambda: PlainTextResponse("Sign in here"))
    app.get("/logout")(lambda: PlainTextResponse("Signed out there"))
    with socket.create_server(("127.0.0.1", int(sys.argv[2]))) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}"
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="websockets-sansio"))
        serving = asyncio.create_task(server.serve([listener]))
        service = await chat.start()
        assert service.owner is not None
        print(f"Turnwire is at {url}")
        print(f"{url}/enter?link={await service.keys.link(service.owner)}")
        print("Stop", flush=True)
        await serving


with suppress(KeyboardInterrupt, asyncio.CancelledError):
    asyncio.run(main())
