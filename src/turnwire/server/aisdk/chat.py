"""The HTTP interface for `useChat`: sends a message, resumes a stream, and reads the history."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.core.message import known_meta
from turnwire.core.status import Status
from turnwire.core.times import iso
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.engine import Talk
from turnwire.engine.export.jsonl import as_frame
from turnwire.engine.fanout.follow import Place
from turnwire.engine.fanout.log_pages import pages_of
from turnwire.ports import StoredEntry
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_ID, MOST_PAGE
from turnwire.server.api.responses import SAFE_HEADERS, json_answer, number, read_json
from turnwire.server.new_conversation import NewConversation, begin, id_for
from turnwire.server.service import Service
from turnwire.server.sockets.commands import carry_out
from turnwire.server.sse.stream import EventStream
from turnwire.server.sse.turn_events import TurnEvents
from turnwire.turn_streams.aisdk.history import history_of
from turnwire.turn_streams.aisdk.requests import (
    ChatRequest,
    SentMessage,
    answers_in,
    content_of,
    place_of,
)
from turnwire.turn_streams.aisdk.sent import UiSent, event_of
from turnwire.turn_streams.aisdk.writer import UiWriter

__all__ = ["messages", "resume", "stop", "submit"]

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_DONE = b"data: [DONE]\n\n"
_MOST_ENTRIES = 5000  # of the log that a history is made from
_PAGE = 200  # entries that are read at once to find a message
_EVENT_ID = re.compile(r"\d{1,18}")
_ENDED = ("INVALID_QUESTION_ID", "DUPLICATE_INPUT_RESPONSE", "NO_PENDING_INPUT")


class _Chat(Struct, frozen=True):
    """A chat of a front end: its newest conversation, and how many forks were made before it."""

    talk: Talk
    forks: int


async def submit(service: Service, request: Request, who: Who) -> Response:
    """POST /api/chat: a new message, an edited one, another answer, or answers to requests."""
    version = _version(request)
    said = await read_json(request, ChatRequest, service.settings)
    if not said.messages or not 0 < len(said.id) <= MOST_ID:
        raise Refused("INVALID_PAYLOAD", "A chat has an `id` and at least one message.")
    last = said.messages[-1]
    if not 0 < len(last.id) <= MOST_ID:
        raise Refused("INVALID_PAYLOAD", f"The id of a message has 1 to {MOST_ID} characters.")
    chat = await _find(service, who, said.id)
    if last.role == "assistant":
        if chat is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=said.id)
        return await _continue(service, who, chat.talk, last, version)
    if last.role != "user":
        raise Refused("INVALID_PAYLOAD", f"The last message has the role {last.role!r}.")
    content = content_of(last)
    if chat is None:
        new = NewConversation(said.agent, options=said.options)
        talk = await begin(service, who, new, own_id=f"chat:{said.id}")
    else:
        await _check_history(service, who, chat.talk, said.messages[:-1])
        is_again = said.trigger == "regenerate-message" or said.message_id == last.id
        entry = await _entry_of(service, chat.talk, last.id) if is_again else None
        talk = chat.talk if entry is None else await _fork(service, who, said.id, chat, entry)
    head = talk.row.head
    command = c.SendMessage(payload=c.NewMessage(content), client_message_id=last.id)
    sent = await carry_out(command, talk, who, service)
    reader = ReplyReader(last.id, after=head)
    if sent.duplicate:
        found = await _entry_of(service, talk, last.id)
        if found is not None:
            reader = ReplyReader(last.id, after=found.sequence - 1)
            reader.acknowledged(found.turn_id, None)
    reader.acknowledged(sent.ack.turn_id, sent.ack.queue_id)
    return _stream(service, who, talk, reader, version=version)


async def resume(service: Service, request: Request, who: Who) -> Response:
    """GET /api/chat/{chat}/stream: the turn that runs, from its beginning; 204 if none runs."""
    version = _version(request)
    given = request.headers.get("last-event-id")
    if given is not None and not _EVENT_ID.fullmatch(given):
        raise Refused("INVALID_PAYLOAD", f"Last-Event-ID is {given!r}: it has to be a number.")
    chat = await _find(service, who, request.path_params["chat"])
    status = None if chat is None else await chat.talk.status()
    turn_id = None if status is None or _waits(status) else status.turn_id
    if chat is None or turn_id is None or request.method == "HEAD":
        return Response(status_code=204, headers=SAFE_HEADERS)
    reader = await _reader_of(service, chat.talk, turn_id)
    return _stream(service, who, chat.talk, reader, after=int(given or 0), version=version)


async def messages(service: Service, request: Request, who: Who) -> Response:
    """GET /api/chat/{chat}/messages: the history as UI messages."""
    version = _version(request)
    chat = await _find(service, who, request.path_params["chat"])
    if chat is None:
        return json_answer({"messages": []})
    frames: list[f.Frame] = []
    status = await chat.talk.status()
    head = (await service.talk(chat.talk.id, who, closed=True)).row.head
    async with service.shares.of(who).costly():
        pages = pages_of(service.store, chat.talk.id, max(head - _MOST_ENTRIES, 0), head)
        async with aclosing(pages):
            async for page in pages:
                frames += [as_frame(item, chat.talk.id) for item in page]
    root = request.scope.get("root_path", "")
    told = history_of(frames, status, version=version, blob_url=(root + "/api/blobs/{}").format)
    return json_answer({"messages": told, "conversation": chat.talk.id})


async def stop(service: Service, request: Request, who: Who) -> Response:
    """POST /api/chat/{chat}/stop: interrupts the turn that runs, if one does."""
    chat = await _find(service, who, request.path_params["chat"])
    status = None if chat is None else await chat.talk.status()
    if chat is not None and status is not None and status.turn_id is not None:
        await chat.talk.interrupt(status.turn_id, user=who.name)
    return Response(status_code=204, headers=SAFE_HEADERS)


# --- the chat and its messages --------------------------------------------------------------------


def _version(request: Request) -> int:
    """Returns the version of the package `ai` that reads the stream. All since 6 read the same."""
    return number(request, "version", 7, least=5, most=99) or 7


async def _find(service: Service, who: Who, chat_id: str) -> _Chat | None:
    """Returns the newest conversation of a chat. Returns None if it has none yet.

    A chat is named by the id of a conversation, or by any id that its front end has chosen.
    """
    if not service.speaks_v2:
        raise Refused("CHAT_PROTOCOL_DISABLED")
    first = None
    for name in (chat_id, _fork_id(who, chat_id, 0)):
        with suppress(Refused):
            first = first or await service.talk(name, who)
    if first is None:
        return None
    chat = _Chat(first, 0)
    while await service.store.conversation(_fork_id(who, chat_id, chat.forks + 1)) is not None:
        name = _fork_id(who, chat_id, chat.forks + 1)
        chat = _Chat(await service.talk(name, who), chat.forks + 1)
    return chat


def _fork_id(who: Who, chat_id: str, forks: int) -> str:
    return id_for(who, f"chat:{chat_id}" if not forks else f"chat:{chat_id}:{forks}")


async def _fork(service: Service, who: Who, chat_id: str, chat: _Chat, entry: StoredEntry) -> Talk:
    """Returns a fork that ends before this message of a person."""
    agent = service.engine.agents.get(chat.talk.row.agent)
    modes = None if agent is None else agent.capabilities.modes_for(is_owner=who.is_owner)
    await service.check_room(who, conversations=1)
    async with service.shares.of(who).costly():
        made = await service.engine.fork(
            chat.talk.id,
            entry.sequence - 1,
            new_conversation_id=_fork_id(who, chat_id, chat.forks + 1),
            user=who.name,
            permission_modes=modes,
        )
    service.has_changed(made.id, made.row.user)
    return made


async def _newest(service: Service, talk: Talk) -> AsyncIterator[StoredEntry]:
    before = (await service.engine.open(talk.id)).row.head
    while before:
        found = await service.store.entries(
            talk.id, before=before + 1, limit=_PAGE, newest=True, size=MOST_PAGE
        )
        for stored in reversed(found):
            yield stored
        before = found[0].sequence - 1 if found else 0


async def _entry_of(service: Service, talk: Talk, message_id: str) -> StoredEntry | None:
    """Returns the entry of a person's message by the id that `messages` gives it."""
    async with aclosing(_newest(service, talk)) as entries:  # type: ignore[type-var]
        async for stored in entries:
            if stored.entry.role == "user":
                own_id = known_meta(stored.entry).client_message_id
                if (own_id or f"message-{stored.sequence}") == message_id:
                    return stored
    return None


async def _check_history(service: Service, who: Who, talk: Talk, before: list[SentMessage]) -> None:
    """Raises Refused if the client's history is not that of the log. Only the log counts."""
    said = [message.id for message in before if message.role == "user"]
    if said and await _entry_of(service, talk, said[-1]) is None:
        status = await talk.status()
        if not any(item.client_message_id == said[-1] for item in status.queue):
            text = f"The message {said[-1]!r} is not in this conversation."
            raise Refused("INVALID_PAYLOAD", f"{text} Read its messages again.")


# --- streams --------------------------------------------------------------------------------------


async def _continue(
    service: Service, who: Who, talk: Talk, last: SentMessage, version: int
) -> Response:
    """Carries out the answers in the agent's message, and continues its turn."""
    place = place_of(last)
    if place is None:
        raise Refused("INVALID_PAYLOAD", f"{last.id!r} is no message of this conversation.")
    turn_id, after = place
    status = await talk.status()
    is_open = {each.request_id for each in status.requests if each.turn_id == turn_id}
    for answer in answers_in(last):
        said = answer.payload
        name = said.question_id if isinstance(said, c.QuestionAnswer) else said.request_id
        if name in is_open:
            try:
                await carry_out(answer, talk, who, service)
            except Refused as refused:
                if refused.code not in _ENDED:  # another person was faster
                    raise
    reader = await _reader_of(service, talk, turn_id)
    return _stream(service, who, talk, reader, after=after, version=version)


def _waits(status: Status) -> bool:
    return any(request.turn_id == status.turn_id for request in status.requests)


async def _reader_of(service: Service, talk: Talk, turn_id: int) -> ReplyReader:
    """Returns a reader that begins with the first entry of a turn."""
    ended = await service.store.turns(talk.id)
    ends = [each.end.after_sequence for each in ended if each.turn_id < turn_id]
    reader = ReplyReader("", after=max(ends, default=0))
    reader.acknowledged(turn_id, None)
    return reader


def _stream(
    service: Service,
    who: Who,
    talk: Talk,
    reader: ReplyReader,
    *,
    after: int = 0,
    version: int,
) -> Response:
    writer = UiWriter(reader, after=after, version=version)
    events = TurnEvents(
        writer, event_of, UiSent, talk.id, lambda: iso(service.engine.clock.now()), last=_DONE
    )
    place = Place(reader.cursor)
    return EventStream(service, talk, place, who, events, service.aisdk, _HEADERS, has_retry=False)
