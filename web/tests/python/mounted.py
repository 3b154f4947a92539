"""Turnwire in somebody else's application, below /team/chat: mounted.py DIR"""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent

PATH = "/team/chat"


async def main() -> None:
    settings = Settings(
        data_dir=sys.argv[1], protocol_v2=True, made_agents={"demo": DemoAgent(delay=0.002)}
    )
    chat = create_app(settings)
    app = FastAPI(lifespan=chat.lifespan)
    app.mount(PATH, chat)
    with socket.create_server(("127.0.0.1", 0)) as listener:
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
