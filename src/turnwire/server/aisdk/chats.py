"""The chats of a front end of the AI SDK: their conversations, and the turns that answer them."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.status import Status
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.engine import Talk
from turnwire.ports import StoredEntry
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_ID
from turnwire.server.named_chats import NamedChat, find_chat, fork_id
from turnwire.server.new_conversation import NewConversation, begin, fork_modes
from turnwire.server.sent_messages import find_messages
from turnwire.server.service import Service
from turnwire.server.sockets.commands import carry_out, check_first
from turnwire.turn_streams.aisdk.requests import (
    ChatRequest,
    SentMessage,
    answers_in,
    content_of,
    place_in,
)
from turnwire.turn_streams.place import StreamPlace

__all__ = ["Answer", "find", "running", "send", "stop"]

_OTHER = "IDEMPOTENCY_CONFLICT"  # this id was used for another message
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
    entry = None
    is_made_for = False
    if chat is None:
        await check_first(content, said.agent, who, service)
        new = NewConversation(said.agent, options=said.options)
        talk = await begin(service, who, new, own_id=f"chat:{said.id}")
    else:
        talk = chat.talk
        entry = await _entry_of(service, who, talk, said)
        is_made_for = entry is not None and await _is_made_for(service, who, talk, entry, said)
        if entry is not None and not is_made_for:
            talk = await _fork(service, who, said.id, chat, entry)
    command = c.SendMessage(payload=c.NewMessage(content), client_message_id=last.id)
    head = talk.row.head
    try:
        sent = await carry_out(command, talk, who, service)
    except Refused as refused:
        if chat is None or entry is None or not is_made_for or refused.code != _OTHER:
            raise
        talk = await _fork(service, who, said.id, chat, entry)  # it was edited once more
        head = talk.row.head
        sent = await carry_out(command, talk, who, service)
    reader = ReplyReader(last.id, after=head)
    if sent.duplicate:
        found = (await find_messages(service, who, talk, [last.id], own=True)).get(last.id)
        if found is not None:
            reader = ReplyReader(last.id, after=found.sequence - 1)
            reader.acknowledged(found.turn_id, None)
    reader.acknowledged(sent.ack.turn_id, sent.ack.queue_id)
    return Answer(talk, reader)


async def running(
    service: Service, who: Who, chat_id: str, place: StreamPlace | None = None
) -> Answer | None:
    """Returns the turn that runs. Returns None if none does, or if it waits for a person.

    `place`: what the client has. If that is no place in this turn, it gets all of the turn.
    """
    talk = await find(service, who, chat_id, closed=True)
    status = None if talk is None else await talk.status()
    if talk is None or status is None or status.turn_id is None or _waits(status):
        return None
    reader = await _reader_of(service, talk, status.turn_id, running=status.turn_id)
    head = (await service.engine.open(talk.id)).row.head
    after = 0
    if place is not None and place.is_of(service.store.epoch, talk.id, head):
        after = place.number if place.number > reader.cursor else 0
    return Answer(talk, reader, after)


async def stop(service: Service, who: Who, chat_id: str) -> None:
    """Interrupts the turn that runs, if one does."""
    talk = await find(service, who, chat_id)
    status = None if talk is None else await talk.status()
    if talk is not None and status is not None and status.turn_id is not None:
        await talk.interrupt(status.turn_id, user=who.name)


async def find(service: Service, who: Who, chat_id: str, *, closed: bool = False) -> Talk | None:
    """Returns the newest conversation of a chat; see `find_chat`."""
    chat = await find_chat(service, who, chat_id, closed=closed)
    return None if chat is None else chat.talk


# --- the chat and its messages --------------------------------------------------------------------


async def _entry_of(
    service: Service, who: Who, talk: Talk, said: ChatRequest
) -> StoredEntry | None:
    """Returns the entry that the last message takes the place of. Returns None if it is new.

    Raises Refused if the client's history is not that of the log. Only the log counts.
    """
    last = said.messages[-1]
    before = [each.id for each in said.messages[:-1] if each.role == "user"][-1:]
    is_again = said.trigger == "regenerate-message" or said.message_id == last.id
    found = await find_messages(service, who, talk, {*before, *([last.id] if is_again else [])})
    for name in before:
        if name not in found:
            status = await talk.status()
            if not any(item.client_message_id == name for item in status.queue):
                text = f"The message {name!r} is not in this conversation."
                raise Refused("INVALID_PAYLOAD", f"{text} Read its messages again.")
    return found.get(last.id) if is_again else None


async def _is_made_for(
    service: Service, who: Who, talk: Talk, entry: StoredEntry, said: ChatRequest
) -> bool:
    """Returns whether a fork was made for a message with this id, so that it may be a repeat.

    An edit is one however often it is sent: the client has perhaps lost the response. So is a
    request for another answer, until that answer has ended: from then on it asks for another one.
    """
    if talk.row.forked_at != entry.sequence - 1:
        return False
    if said.trigger == "regenerate-message" and (await talk.status()).turn_id != entry.turn_id:
        return False
    return await service.store.receipt(talk.id, who.name, said.messages[-1].id) is not None


async def _fork(
    service: Service, who: Who, chat_id: str, chat: NamedChat, entry: StoredEntry
) -> Talk:
    """Returns a fork that ends before this message of a person."""
    agent = service.engine.agents.get(chat.talk.row.agent)
    modes = fork_modes(agent, who)
    await service.check_room(who, conversations=1)
    name = fork_id(who, chat_id, chat.forks + 1)
    try:
        async with service.shares.of(who).costly():
            made = await service.engine.fork(
                chat.talk.id,
                entry.sequence - 1,
                new_conversation_id=name,
                user=who.name,
                permission_modes=modes,
            )
    except Refused:
        if await service.store.conversation(name) is None:
            raise
        return await service.talk(name, who)  # the same request, sent again, was faster
    service.has_changed(made.id, made.row.user)
    return made


# --- the turn -------------------------------------------------------------------------------------


async def _continue(service: Service, who: Who, talk: Talk, last: SentMessage) -> Answer:
    """Carries out the answers in the agent's message, and continues its turn."""
    place = place_in(last)
    if place is None:
        raise Refused("INVALID_PAYLOAD", f"{last.id!r} is no message of this conversation.")
    turn_id = place.turn_id
    status = await talk.status()
    reader = await _reader_of(service, talk, turn_id, running=status.turn_id)
    head = (await service.engine.open(talk.id)).row.head
    if place.conversation not in (None, talk.id) or place.sequence > head:
        text = f"{last.id!r} is not this conversation's, which was forked or replaced."
        raise Refused("INVALID_PAYLOAD", f"{text} Read its messages again.")
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
    return Answer(talk, reader, place.sequence if place.sequence > reader.cursor else 0)


def _waits(status: Status) -> bool:
    return any(request.turn_id == status.turn_id for request in status.requests)


async def _reader_of(
    service: Service, talk: Talk, turn_id: int, *, running: int | None
) -> ReplyReader:
    """Returns a reader that begins with the first entry of a turn.

    Raises Refused if there is no such turn: it neither runs nor has ended.
    """
    ended = await service.store.turns(talk.id)
    if turn_id != running and not any(each.turn_id == turn_id for each in ended):
        text = f"This conversation has no turn {turn_id}. Read its messages again."
        raise Refused("INVALID_PAYLOAD", text)
    ends = [each.end.after_sequence for each in ended if each.turn_id < turn_id]
    reader = ReplyReader("", after=max(ends, default=0))
    reader.acknowledged(turn_id, None)
    return reader
