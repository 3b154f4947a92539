"""The chats of a front end of the AI SDK: their conversations, and the turns that answer them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.message import known_meta
from turnwire.core.status import Status
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.engine import Talk
from turnwire.ports import StoredEntry
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_ID, MOST_PAGE
from turnwire.server.named_chats import NamedChat, find_chat, fork_id
from turnwire.server.new_conversation import NewConversation, begin
from turnwire.server.service import Service
from turnwire.server.sockets.commands import carry_out
from turnwire.turn_streams.aisdk.requests import (
    ChatRequest,
    SentMessage,
    answers_in,
    content_of,
    place_of,
)

__all__ = ["Answer", "find", "running", "send", "stop"]

_PAGE = 200  # entries that are read at once to find a message
_ENDED = ("INVALID_QUESTION_ID", "DUPLICATE_INPUT_RESPONSE", "NO_PENDING_INPUT")


class Answer(Struct, frozen=True):
    """The turn that answers a request: where its entries begin, and what the client has of them."""

    talk: Talk
    reader: ReplyReader
    after: int = 0


async def send(service: Service, who: Who, said: ChatRequest) -> Answer:
    """Takes a new message, an edited one, a wish for another answer, or answers to requests."""
    if not said.messages or not 0 < len(said.id) <= MOST_ID:
        raise Refused("INVALID_PAYLOAD", "A chat has an `id` and at least one message.")
    last = said.messages[-1]
    if not 0 < len(last.id) <= MOST_ID:
        raise Refused("INVALID_PAYLOAD", f"The id of a message has 1 to {MOST_ID} characters.")
    chat = await find_chat(service, who, said.id)
    if last.role == "assistant":
        if chat is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=said.id)
        return await _continue(service, who, chat.talk, last)
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
    return Answer(talk, reader)


async def running(service: Service, who: Who, chat_id: str, *, after: int = 0) -> Answer | None:
    """Returns the turn that runs. Returns None if none does, or if it waits for a person."""
    talk = await find(service, who, chat_id)
    status = None if talk is None else await talk.status()
    if talk is None or status is None or status.turn_id is None or _waits(status):
        return None
    return Answer(talk, await _reader_of(service, talk, status.turn_id), after)


async def stop(service: Service, who: Who, chat_id: str) -> None:
    """Interrupts the turn that runs, if one does."""
    talk = await find(service, who, chat_id)
    status = None if talk is None else await talk.status()
    if talk is not None and status is not None and status.turn_id is not None:
        await talk.interrupt(status.turn_id, user=who.name)


async def find(service: Service, who: Who, chat_id: str) -> Talk | None:
    """Returns the newest conversation of a chat. Returns None if it has none yet."""
    chat = await find_chat(service, who, chat_id)
    return None if chat is None else chat.talk


# --- the chat and its messages --------------------------------------------------------------------


async def _fork(
    service: Service, who: Who, chat_id: str, chat: NamedChat, entry: StoredEntry
) -> Talk:
    """Returns a fork that ends before this message of a person."""
    agent = service.engine.agents.get(chat.talk.row.agent)
    modes = None if agent is None else agent.capabilities.modes_for(is_owner=who.is_owner)
    await service.check_room(who, conversations=1)
    async with service.shares.of(who).costly():
        made = await service.engine.fork(
            chat.talk.id,
            entry.sequence - 1,
            new_conversation_id=fork_id(who, chat_id, chat.forks + 1),
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


# --- the turn -------------------------------------------------------------------------------------


async def _continue(service: Service, who: Who, talk: Talk, last: SentMessage) -> Answer:
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
    return Answer(talk, reader, after)


def _waits(status: Status) -> bool:
    return any(request.turn_id == status.turn_id for request in status.requests)


async def _reader_of(service: Service, talk: Talk, turn_id: int) -> ReplyReader:
    """Returns a reader that begins with the first entry of a turn."""
    ended = await service.store.turns(talk.id)
    ends = [each.end.after_sequence for each in ended if each.turn_id < turn_id]
    reader = ReplyReader("", after=max(ends, default=0))
    reader.acknowledged(turn_id, None)
    return reader
