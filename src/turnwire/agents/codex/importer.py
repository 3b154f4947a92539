"""Imports threads of Codex into a store: one conversation each; adds only new turns."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from turnwire.agents.codex.app_server import AppServer
from turnwire.agents.codex.installation import environment, find_codex, missing
from turnwire.agents.process import GuardedProcess, plain_environment
from turnwire.core.content import Content, ImageContent, TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import AddEntry, Tell, Write
from turnwire.core.conversation.state import Conversation, needs_recovery
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.times import iso
from turnwire.dialects.codex import CodexStreamAdapter, decode
from turnwire.ports import AgentGone, Commit, ConversationRow, NewConversation, Owned, Store

__all__ = ["Brought", "ThreadReader", "bring", "conversation_of", "thread_reader"]

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without letters and digits that look alike
_PAGE = 500
_LEASE = 600_000  # milliseconds
_REASON = "import"


class Brought(Struct, frozen=True):
    """The result of importing one thread."""

    conversation_id: str
    session_id: str
    entries: int  # number of new entries
    is_new: bool = False
    title: str | None = None
    refused: str | None = None  # why the conversation was not changed


def conversation_of(thread_id: str) -> str:
    """Returns the conversation id of a thread: always the same, and short enough to type."""
    number = int.from_bytes(sha256(f"codex:{thread_id}".encode()).digest())
    letters = []
    for _ in range(10):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)


# --- threads of Codex -----------------------------------------------------------------------------


class ThreadReader:
    """Reads the threads that Codex has stored, through an app-server."""

    def __init__(self, server: AppServer) -> None:
        self._server = server

    async def threads(self, project: Path | None = None) -> list[dict[str, Any]]:
        """Returns all threads without their turns, oldest first."""
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self._server.ask("thread/list", cursor=cursor, limit=100)
            found += page.get("data") or []
            cursor = page.get("nextCursor")
            if not cursor:
                break
        if project is not None:
            found = [each for each in found if each.get("cwd") == str(project)]
        return sorted(found, key=lambda each: each.get("createdAt") or 0)

    async def turns(self, thread_id: str) -> list[dict[str, Any]]:
        """Returns the turns of a thread with all their items."""
        answer = await self._server.ask("thread/read", threadId=thread_id, includeTurns=True)
        turns: list[dict[str, Any]] = answer["thread"].get("turns") or []
        return turns


@asynccontextmanager
async def thread_reader(env: Mapping[str, str] | None = None) -> AsyncIterator[ThreadReader]:
    """Starts an app-server to read threads. Raises AgentGone if Codex is not installed."""
    given = environment(plain_environment(), env or {})
    codex = find_codex()
    if codex is None:
        raise AgentGone(missing(given, None) or "There is no Codex.")

    async def nothing(broken: str | None) -> None:
        pass

    server = AppServer(lambda lines: None, nothing)
    try:
        await server.begin(lambda: GuardedProcess.start([codex, "app-server"], env=given))
        yield ThreadReader(server)
    finally:
        await server.end()


# --- into the store -------------------------------------------------------------------------------


async def bring(
    store: Store,
    thread: Mapping[str, Any],
    turns: list[dict[str, Any]],
    *,
    owner: str,
    new_id: Callable[[], str],
) -> Brought | None:
    """Adds the new turns of a thread to its conversation. Returns None if it has no turns."""
    thread_id = str(thread["id"])
    name = conversation_of(thread_id)
    if not turns:
        return None
    row = await store.conversation(name)
    is_new = row is None
    if row is None:
        row = await _create(store, name, thread)
    known = await _known_turns(store, row)
    news = [turn for turn in turns if turn.get("id") not in known]
    if not news:
        return Brought(name, thread_id, 0, title=row.title)
    try:
        claim = await store.claim(name, owner, now=_now(), lease=_LEASE)
    except Owned:
        why = "another process runs it; import again when it has ended"
        return Brought(name, thread_id, 0, title=row.title, refused=why)
    is_done = False
    try:
        row = await store.conversation(name) or row  # only this process can change it now
        if row.state.turn is not None or row.state.queue or needs_recovery(row.state):
            why = "a turn or message is open; import again when it has ended"
            return Brought(name, thread_id, 0, title=row.title, refused=why)
        retelling = _Retelling(row.state, thread_id, new_id)
        for turn in news:
            writes, at = retelling.turn(turn)
            await store.commit(Commit(claim, retelling.state, writes, at))
        is_done = True
    finally:
        await store.release(claim)
        if is_new and not is_done:  # a partial import is useless
            await store.delete(name)
    added = retelling.state.head - row.head
    return Brought(name, thread_id, added, is_new, row.title)


async def _create(store: Store, name: str, thread: Mapping[str, Any]) -> ConversationRow:
    title = thread.get("name") or thread.get("preview") or None
    created = iso(int(thread.get("createdAt") or _now() // 1000) * 1000)
    state = Conversation(name, title=title)
    new = NewConversation(name, "codex", created, None, title, thread.get("cwd"), state=state)
    return await store.create(structs.replace(new, native_session_id=str(thread["id"])))


async def _known_turns(store: Store, row: ConversationRow) -> set[str]:
    """Returns the ids of the turns that the log has."""
    known: set[str] = set()
    after = 0
    while page := await store.entries(row.conversation_id, after=after, limit=_PAGE):
        known |= {str(each.entry.meta.get("uuid")) for each in page}
        after = page[-1].sequence
    return known


class _Retelling:
    """Replays turns: the rules of a live conversation make the log."""

    def __init__(self, state: Conversation, thread_id: str, new_id: Callable[[], str]) -> None:
        self.state = state
        self._thread_id = thread_id
        self._new_id = new_id
        self._adapter = CodexStreamAdapter()
        self._adapter.session_id = thread_id
        self._entries = EntryStream()
        self._writes: list[Write] = []
        self._at = 0

    def turn(self, turn: dict[str, Any]) -> tuple[list[Write], str]:
        """Returns the writes of a turn, and its time."""
        self._at = int(turn.get("startedAt") or 0) * 1000 or _now()
        items: list[dict[str, Any]] = turn.get("items") or []
        said = next((each for each in items if each.get("type") == "userMessage"), None)
        self._step(
            i.Said(
                at=self._at,
                content=_content(said or {}),
                queue_id=self._new_id(),
                trace_id=self._new_id(),
            ),
            uuid=str(turn.get("id")),
        )
        self._hear("turn/started", turn={"id": turn.get("id")})
        for item in items:
            if item is not said:
                self._hear("item/completed", item=item)
        self._at = int(turn.get("completedAt") or 0) * 1000 or self._at
        ended = {**turn, "items": []}
        if ended.get("status") == "inProgress":
            ended["status"] = "interrupted"
        self._hear("turn/completed", turn=ended)
        self._step(i.AgentLost(at=self._at, reason=_REASON))
        writes, self._writes = self._writes, []
        return writes, iso(self._at)

    def _hear(self, method: str, **params: Any) -> None:
        message = {"method": method, "params": {"threadId": self._thread_id, **params}}
        events = self._adapter.feed(decode(msgspec.json.encode(message)))
        for event in events:
            self._said(event, last=event is events[-1])

    def _said(self, event: NormalizedStreamEvent, *, last: bool) -> None:
        entries = self._entries.feed(event, run_id="", now=iso(self._at))
        self._step(
            i.AgentSaid(
                at=self._at,
                event=event,
                entries=entries,
                trace_id=self._new_id(),
                inbox_item_id=self._new_id(),
                last=last,
            )
        )

    def _step(self, happened: i.Input, *, uuid: str | None = None) -> None:
        self.state, effects = step(self.state, happened)
        for write in effects.writes:
            if isinstance(write, AddEntry) and uuid is not None and write.entry.role == "user":
                # So the next import knows the turn.
                entry = structs.replace(write.entry, meta={**write.entry.meta, "uuid": uuid})
                self._writes.append(structs.replace(write, entry=entry))
            elif not isinstance(write, Tell):
                self._writes.append(write)


def _content(item: Mapping[str, Any]) -> list[Content]:
    content: list[Content] = []
    for each in item.get("content") or []:
        match each:
            case {"type": "text", "text": str(text)}:
                content.append(TextContent(text))
            case {"type": "image", "url": str(url)}:
                head, comma, data = url.partition(";base64,")
                inline = bool(comma) and head.startswith("data:")
                mime = head.removeprefix("data:") if inline else "image/*"
                content.append(ImageContent(mime, data) if inline else ImageContent(mime, url=url))
            case _:
                content.append(TextContent(msgspec.json.encode(each).decode()))
    return content or [TextContent("(a turn without a message)")]


def _now() -> int:
    return time.time_ns() // 1_000_000
