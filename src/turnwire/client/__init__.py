"""The Python client: reconnects, resumes from its cursor, and resends commands without an answer.

from turnwire.client import Client

client = Client("http://127.0.0.1:7410", token)
async with client.conversation(await client.create()) as talk:
    await talk.send("Hello")
    async for frame in talk:
        ...
"""

from turnwire.client.address import Unreachable
from turnwire.client.conversation import ClientConversation, Closed, Line
from turnwire.client.http import Client
from turnwire.client.listing import ConversationInfo, ForkedFrom, RuleInfo

__all__ = [
    "Client",
    "ClientConversation",
    "Closed",
    "ConversationInfo",
    "ForkedFrom",
    "Line",
    "RuleInfo",
    "Unreachable",
]
