"""Answers every question of a conversation with "yes".

python examples/bot.py URL TOKEN "hello"
"""

import asyncio
import sys

from turnwire import Client
from turnwire import frames as f


async def main(url: str, token: str, prompt: str) -> None:
    client = Client(url, token)
    async with client.conversation(await client.create()) as talk:
        await talk.send(prompt)
        async for frame in talk:
            if isinstance(frame, f.AssistantRequestInput):
                await talk.answer(frame.payload.question_id, "yes")
            elif isinstance(frame, f.AssistantChunk) and not frame.payload.partial:
                print(frame.payload.text)
            elif isinstance(frame, f.AssistantComplete):
                return


asyncio.run(main(*sys.argv[1:]))
