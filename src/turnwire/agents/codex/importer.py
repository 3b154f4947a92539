"""Imports threads of Codex into a store: one conversation each; adds only new turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from turnwire.agents.codex.app_server import AppServer
from turnwire.agents.codex.installation import environment, find_codex, missing
from turnwire.agents.imports import PAGE, Brought, NotNow, claimed, now_ms, short_id
from turnwire.agents.process import GuardedProcess, plain_environment
from turnwire.core.content import Content, ImageContent, TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import AddEntry, Tell, Write
from turnwire.core.conversation.state import Conversation
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message, ToolCallPart
from turnwire.core.times import iso
from turnwire.dialects.codex import CodexStreamAdapter, Line, decode
from turnwire.ports import AgentGone, Commit, ConversationRow, NewConversation, Store

__all__ = ["ThreadReader", "bring", "conversation_of", "thread_reader"]

_REASON = "import"
# The threads that people and programs begin. Those of sub-agents belong to the thread that began them.
_SOURCES = ("cli", "vscode", "exec", "appServer", "unknown")


def conversation_of(thread_id: str) -> str:
    """Returns the conversation id of a thread: always the same, and short enough to type."""
    return short_id(f"codex:{thread_id}")


# --- threads of Codex -----------------------------------------------------------------------------


class ThreadReader:
    """Reads the threads that Codex has stored, through an app-server."""

    def __init__(self, server: AppServer) -> None:
        self._server = server

    async def threads(self, project: Path | None = None) -> list[dict[str, Any]]:
        """Returns all threads without their turns, oldest first, the archived ones too."""
        found = [*await self._listed(archived=False), *await self._listed(archived=True)]
        if project is not None:
            found = [each for each in found if _is_in(each.get("cwd"), project)]
        return sorted(found, key=lambda each: each.get("createdAt") or 0)

    async def _listed(self, *, archived: bool) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self._server.ask(
                "thread/list",
                cursor=cursor,
                limit=100,
                archived=archived,
                modelProviders=[],  # of all; without it Codex lists those of the present one
                sourceKinds=_SOURCES,  # without it only those that people began in a front end
            )
            found += page.get("data") or []
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    async def turns(self, thread_id: str) -> list[dict[str, Any]]:
        """Returns the turns of a thread with all their items."""
        answer = await self._server.ask("thread/read", threadId=thread_id, includeTurns=True)
        turns: list[dict[str, Any]] = answer["thread"].get("turns") or []
        return turns


def _is_in(cwd: Any, project: Path) -> bool:
    return isinstance(cwd, str) and Path(cwd).resolve() == project.resolve()


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
    has_died: Callable[[str], bool],
) -> Brought | None:
    """Adds the new turns of a thread to its conversation. Returns None if it has no turns.

    Adds the new items of a known turn, too: it may have run on after the last import.
    `has_died` says whether an owner has surely ended, so that its lease can be released.
    """
    thread_id = str(thread["id"])
    name = conversation_of(thread_id)
    if not turns:
        return None
    row = await store.conversation(name)
    is_new = row is None
    if row is None:
        row = await _create(store, name, thread)
    known = await _known(store, row)
    news = [new for turn in turns if (new := _new_in(turn, known)) is not None]
    if not news:
        return Brought(name, thread_id, 0, title=row.title)
    try:
        async with claimed(store, row, owner, has_died, is_new=is_new) as (claim, current):
            row = current
            retelling = _Retelling(row.state, thread_id, new_id)
            for turn in news:
                writes, at = retelling.turn(turn)
                await store.commit(Commit(claim, retelling.state, writes, at))
    except NotNow as why:
        return Brought(name, thread_id, 0, title=row.title, refused=str(why))
    added = retelling.state.head - row.head
    return Brought(name, thread_id, added, is_new, row.title)


async def _create(store: Store, name: str, thread: Mapping[str, Any]) -> ConversationRow:
    title = thread.get("name") or thread.get("preview") or None
    created = iso(int(thread.get("createdAt") or now_ms() // 1000) * 1000)
    state = Conversation(name, title=title)
    new = NewConversation(name, "codex", created, None, title, thread.get("cwd"), state=state)
    return await store.create(structs.replace(new, native_session_id=str(thread["id"])))


async def _known(store: Store, row: ConversationRow) -> set[str]:
    """Returns the ids of the turns and items that the log has."""
    known: set[str] = set()
    after = 0
    while page := await store.entries(row.conversation_id, after=after, limit=PAGE):
        for each in page:
            known |= _ids_in(each.entry)
        after = page[-1].sequence
    return known


def _ids_in(entry: Message) -> set[str]:
    calls = {p.payload.tool_call_id for p in entry.parts if isinstance(p, ToolCallPart)}
    return {*calls, *(str(entry.meta.get(name)) for name in ("uuid", "messageId")), _news_in(entry)}


def _news_in(entry: Message) -> str:
    """Returns the id of an item that is news. Returns an empty text for any other entry."""
    try:
        return str(entry.meta["data"]["data"]["params"]["item"]["id"])
    except (LookupError, TypeError):
        return ""


def _new_in(turn: dict[str, Any], known: set[str]) -> dict[str, Any] | None:
    """Returns a turn with what the log lacks of it. Returns None if it lacks nothing."""
    if turn.get("id") not in known:
        return turn
    items: list[dict[str, Any]] = turn.get("items") or []
    # A turn that another process runs has only its complete items, always in the same order.
    last = max((at for at, item in enumerate(items) if item.get("id") in known), default=-1)
    rest = [item for item in items[last + 1 :] if _is_told(item)]
    return {**turn, "items": rest, "goes_on": True} if rest else None


def _is_told(item: dict[str, Any]) -> bool:
    """Returns whether an item is in the log. Encrypted reasoning, for example, is not."""
    return item.get("type") != "userMessage" and bool(CodexStreamAdapter().feed(_completed(item)))


def _completed(item: dict[str, Any], thread_id: str = "") -> Line:
    params = {"threadId": thread_id, "item": item}
    return decode(msgspec.json.encode({"method": "item/completed", "params": params}))


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
        self._at = int(turn.get("startedAt") or 0) * 1000 or now_ms()
        items: list[dict[str, Any]] = turn.get("items") or []
        said = None
        if not turn.get("goes_on"):
            said = next((each for each in items if each.get("type") == "userMessage"), None)
            self._say(said or {}, str(turn.get("id")))
        self._hear("turn/started", turn={"id": turn.get("id")})
        for item in items:
            if item is not said:
                self._tell(_completed(item, self._thread_id))
        self._at = int(turn.get("completedAt") or 0) * 1000 or self._at
        ended = {**turn, "items": []}
        if ended.get("status") == "inProgress":
            ended["status"] = "interrupted"
        self._hear("turn/completed", turn=ended)
        self._step(i.AgentLost(at=self._at, reason=_REASON))
        writes, self._writes = self._writes, []
        return writes, iso(self._at)

    def _say(self, said: dict[str, Any], turn_id: str) -> None:
        queue_id, trace_id = self._new_id(), self._new_id()
        content = _content(said)
        self._step(
            i.Said(at=self._at, content=content, queue_id=queue_id, trace_id=trace_id), uuid=turn_id
        )

    def _hear(self, method: str, **params: Any) -> None:
        message = {"method": method, "params": {"threadId": self._thread_id, **params}}
        self._tell(decode(msgspec.json.encode(message)))

    def _tell(self, line: Line) -> None:
        events = self._adapter.feed(line)
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
