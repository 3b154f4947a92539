"""`turnwire chat` without a terminal: each line of standard input is a message."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress

from rich.text import Text

from turnwire.cli.chatting.agent_command import chosen_agent
from turnwire.cli.home import Home
from turnwire.cli.live.ending import figures, next_step
from turnwire.cli.live.session import Left, Removed, Session
from turnwire.cli.live.there import There
from turnwire.cli.live.view import View, open_view
from turnwire.cli.live.visit import tell_open
from turnwire.cli.remote import tell_when_gone
from turnwire.client import ClientConversation
from turnwire.core.error_codes import Refused

__all__ = ["plain_chat"]


async def plain_chat(talk: ClientConversation, home: Home, name: str) -> int:
    """Sends each line and shows its turn until the end. Returns the exit code of the last turn."""
    there = There(name, talk)
    tell_when_gone(talk)
    with open_view(as_json=False) as view:
        try:
            async with Session(there, view) as session:
                code = await _turns(session, view, talk)
        except Left as left:
            if left.request is not None:
                tell_open(view, home, there, left.request)
                return left.code
            code = left.code
        view.note([Text(f"Go on: {home.command('chat', '--conversation', name)}")])
    return code


async def _turns(session: Session, view: View, talk: ClientConversation) -> int:
    lines = _lines()
    code = 0
    turn_id = session.status.turn_id
    while True:
        if turn_id is not None:
            end = await session.see(turn_id)
        else:
            words = await session.heed(lines.get())
            if words is None:
                return code
            if not words.strip():
                continue
            agent = chosen_agent(words)
            if agent is not None:
                code = await _set_agent(talk, agent, view)
                continue
            try:
                end = await session.say(words)
            except Removed as removed:
                view.note([Text(removed.message)])
                code = 2
                continue
        turn_id = None
        step = next_step(end)
        view.note([*figures(end), *([Text(step)] if step else [])])
        code = 1 if end.is_error else 130 if end.interrupted else 0


async def _set_agent(talk: ClientConversation, agent: str, view: View) -> int:
    """Lets another agent speak. Returns the exit code."""
    try:
        await talk.set_agent(agent)
    except Refused as refused:
        view.note([Text(refused.message)])
        return 2
    return 0


def _lines() -> asyncio.Queue[str | None]:
    """Reads standard input in a thread, so that a slow writer does not block the event loop.

    Returns a queue of lines; None is the end of the input.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def tell(line: bytes | None) -> None:
        words = None if line is None else line.decode(errors="replace")
        loop.call_soon_threadsafe(lines.put_nowait, words)

    def read() -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop is closed: the chat has ended
            # Not through sys.stdin: a thread that blocks in it delays the exit of the program.
            while data := _read():
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    tell(line)
            if rest:
                tell(rest)
            tell(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _read() -> bytes:
    try:
        return os.read(0, 65536)
    except OSError:  # closed, or the terminal has hung up
        return b""
