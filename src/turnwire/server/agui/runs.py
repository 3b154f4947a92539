"""The HTTP interface for AG-UI: runs the agent, reconnects to a run, and reads the history."""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import Any

from msgspec import UNSET, Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.agents.client_tools import CLIENT_TOOLS, check_client_tools
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, Status
from turnwire.core.times import iso
from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.inputs import RunAgentInput, SentMessage
from turnwire.dialects.agui.messages import AguiMessage
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.engine import Talk
from turnwire.engine.export.jsonl import as_frame
from turnwire.engine.fanout.follow import Place
from turnwire.engine.fanout.log_pages import pages_of
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_ID, MOST_PAGE
from turnwire.server.agui.capabilities import capabilities_of, takes_client_tools
from turnwire.server.agui.events import RunEvents
from turnwire.server.api.responses import SAFE_HEADERS, blob_urls, json_answer, read_json, word
from turnwire.server.named_chats import find_chat
from turnwire.server.new_conversation import NewConversation, begin
from turnwire.server.service import Service
from turnwire.server.sockets.commands import carry_out, check_first
from turnwire.server.sse.stream import EventStream
from turnwire.turn_streams.agui.parts import OURS
from turnwire.turn_streams.agui.requests import ClientCopy, answer_of, content_of, tool_answers
from turnwire.turn_streams.agui.sent import event_of
from turnwire.turn_streams.agui.writer import AguiWriter, Run, messages_of
from turnwire.turn_streams.place import StreamPlace, place_of

__all__ = ["capabilities", "connect", "messages", "run", "stop"]

_MOST_ENTRIES = 5000  # of the log that a snapshot is made from
_NEWEST = 200  # entries that are read to find out what a client has
_FLAG = re.compile(r"1|true|yes", re.IGNORECASE)
_ENDED = ("INVALID_QUESTION_ID", "DUPLICATE_INPUT_RESPONSE", "NO_PENDING_INPUT")


class _Ours(Struct, frozen=True):
    """What a front end may send to Turnwire, in `forwardedProps.turnwire`."""

    agent: str | None = None  # of a new conversation
    options: dict[str, Any] = {}  # of a new conversation
    raw: bool = False


async def run(service: Service, request: Request, who: Who) -> Response:
    """POST /agui: a new message, answers to interrupts, or results of the front end's tools."""
    said = await read_json(request, RunAgentInput, service.settings, is_chat=True)
    if not 0 < len(said.thread_id) <= MOST_ID or not 0 < len(said.run_id) <= MOST_ID:
        raise Refused("INVALID_PAYLOAD", f"`threadId` and `runId` have 1 to {MOST_ID} characters.")
    ours = _ours(said.forwarded_props)
    agent = request.path_params.get("agent") or ours.agent
    talk = await _find(service, who, said.thread_id)
    ignored = ["context"] if said.context else []
    last = said.messages[-1] if said.messages else None
    is_new = last is not None and last.role == "user"
    content = _content_of(last) if is_new and last is not None else []
    if talk is None:
        if not is_new:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=said.thread_id)
        await check_first(content, agent, who, service)
        options = {**ours.options}
        if said.tools:
            options[CLIENT_TOOLS] = _tools(service, agent or service.usual_agent, said)
        new = NewConversation(agent, options=options)
        talk = await begin(service, who, new, own_id=f"chat:{said.thread_id}")
    elif said.tools and _tools(service, await talk.agent(), said) != talk.row.options.get(
        CLIENT_TOOLS
    ):
        ignored.append("tools")  # the agent was given those of the first run
    status = await talk.status()
    copy = ClientCopy.of(said.messages[:-1] if is_new else said.messages)
    place = await _place(service, talk, copy, is_running=status.turn_id is not None)
    await _answer(service, who, talk, status, said)
    own = None
    if is_new and last is not None:
        own = await _send(service, who, talk, last.id, content)
    told = {"conversation": talk.id}
    about = Run(
        said.thread_id,
        said.run_id,
        {} if said.state is None else said.state,
        {**told, "ignored": ignored} if ignored else told,
        ours.raw,
        said.protocol_version is not None,  # clients before 1.0 send none
    )
    sent = [each.id for each in said.messages if each.role == "user"]
    results = [each.tool_call_id or "" for each in said.messages if each.role == "tool"]
    writer = AguiWriter(
        *(about, place), own=own, said=sent, answered=results, blob_url=blob_urls(request.scope)
    )
    return await _stream(service, request, who, talk, writer, place)


async def connect(service: Service, request: Request, who: Who) -> Response:
    """GET /agui/threads/{thread}/stream: what the client lacks, and the run that is in progress."""
    thread = request.path_params["thread"]
    given = request.headers.get("last-event-id") or word(request, "last_event_id")
    place = None if given is None else place_of(given)
    talk = await _find(service, who, thread, closed=True)
    about = Run(
        thread,
        word(request, "run_id") or service.engine.new_id(),
        UNSET,
        {} if talk is None else {"conversation": talk.id},
        _FLAG.fullmatch(word(request, "raw") or "") is not None,
    )
    if talk is None or request.method == "HEAD":
        return _told(about, [])
    if talk.row.archived:  # nothing runs in it: its messages are all that is sent
        return _told(about, await _messages(service, request, who, talk))
    if place is not None and not await _can_continue(service, talk, place):
        place = None
    writer = AguiWriter(about, place, blob_url=blob_urls(request.scope))
    return await _stream(service, request, who, talk, writer, place)


async def messages(service: Service, request: Request, who: Who) -> Response:
    """GET /agui/threads/{thread}/messages: the history as messages."""
    talk = await _find(service, who, request.path_params["thread"], closed=True)
    if talk is None:
        return json_answer({"messages": []})
    told = await _messages(service, request, who, talk)
    return json_answer({"messages": told, "conversation": talk.id})


async def stop(service: Service, request: Request, who: Who) -> Response:
    """POST /agui/threads/{thread}/stop: interrupts the turn that runs, if one does."""
    talk = await _find(service, who, request.path_params["thread"])
    status = None if talk is None else await talk.status()
    if talk is not None and status is not None and status.turn_id is not None:
        await talk.interrupt(status.turn_id, user=who.name)
    return Response(status_code=204, headers=SAFE_HEADERS)


async def capabilities(service: Service, request: Request, who: Who) -> Response:
    """GET /agui/capabilities: what an agent can do, in the words of AG-UI."""
    agent = request.path_params.get("agent") or service.usual_agent
    if agent not in service.engine.agents:
        there = ", ".join(service.engine.agents)
        raise Refused("INVALID_PAYLOAD", f"There is no agent {agent!r}; there is: {there}.")
    return json_answer(capabilities_of(service.engine, agent, is_owner=who.is_owner))


# --- threads --------------------------------------------------------------------------------------


async def _find(service: Service, who: Who, thread: str, *, closed: bool = False) -> Talk | None:
    chat = await find_chat(service, who, thread, closed=closed)
    return None if chat is None else chat.talk


def _ours(given: Any) -> _Ours:
    match given:
        case {"turnwire": dict() as ours}:
            agent, options = ours.get("agent"), ours.get("options", {})
            if not isinstance(agent, str | None) or not isinstance(options, dict):
                said = "`forwardedProps.turnwire` has an `agent` (text) and `options` (an object)."
                raise Refused("INVALID_PAYLOAD", said)
            return _Ours(agent, options, ours.get("raw") is True)
        case _:
            return _Ours()


def _tools(service: Service, agent: str, said: RunAgentInput) -> list[dict[str, Any]]:
    """Returns the tools of a run, as the option of an agent. Raises Refused if it cannot call them."""
    if not takes_client_tools(service.engine, agent):
        said_why = f"The agent {agent} cannot call tools of the front end: leave `tools` empty."
        raise Refused("NOT_SUPPORTED", said_why)
    tools = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in said.tools
    ]
    check_client_tools(tools)
    return tools


# --- what a client has ----------------------------------------------------------------------------


async def _place(
    service: Service, talk: Talk, copy: ClientCopy, *, is_running: bool
) -> StreamPlace | None:
    """Returns the place of a client that has all finished messages.

    Returns None if it lacks one, or has one that the log has not: then it gets all messages. Only
    the newest message is compared, because a client gets messages in order.
    """
    head = (await service.engine.open(talk.id)).row.head
    newest = await service.store.entries(
        talk.id, before=head + 1, limit=_NEWEST, newest=True, size=MOST_PAGE
    )
    frames = [as_frame(stored, talk.id) for stored in newest]
    # Text that grew when the server was killed: the log may have none of it.
    if not is_running and copy.newest_text not in (None, *map(_block_of, frames)):
        return None
    for frame in reversed(frames):
        has = copy.has(frame)
        if has is not None:
            return StreamPlace(head, None, copy.lengths) if has else None
    return StreamPlace(head) if not copy.texts and head <= _NEWEST else None


def _block_of(frame: f.Frame) -> str | None:
    match frame:
        case f.AssistantChunk(payload=block):
            return block.block_id
        case _:
            return None


async def _can_continue(service: Service, talk: Talk, place: StreamPlace) -> bool:
    """Returns whether a client can go on where it was, also with the blocks that grew."""
    growing = {**place.lengths}
    head = (await service.engine.open(talk.id)).row.head
    if not place.is_of(service.store.epoch, talk.id, head):
        return False
    if not growing:
        return True
    if head - place.number > _NEWEST:
        return False
    found = await service.store.entries(talk.id, after=place.number, limit=_NEWEST, size=MOST_PAGE)
    for stored in found:
        match as_frame(stored, talk.id):
            case f.AssistantChunk(payload=block) | f.AssistantThinking(payload=block):
                if len(block.text) < growing.pop(block.block_id, 0):
                    return False
            case _:
                pass
    status = await talk.status()
    has_calls = any(each.entry.role == "assistant" for each in found) and bool(growing)
    return not growing or (status.turn_id is not None and not has_calls)


async def _turn_began_after(service: Service, talk: Talk, number: int) -> int:
    """Returns the number before the first entry of the turn that an entry belongs to."""
    ended = await service.store.turns(talk.id)
    ends = [each.end.after_sequence for each in ended if each.end.after_sequence < number]
    return min(max(ends, default=0), number)


# --- commands -------------------------------------------------------------------------------------


async def _answer(
    service: Service, who: Who, talk: Talk, status: Status, said: RunAgentInput
) -> None:
    """Carries out the answers of a run that continues an interrupted one."""
    asked = {each.request_id: each for each in status.requests}
    commands: list[c.ClientFrame] = [*tool_answers(said.messages, status.requests)]
    for entry in said.resume:
        request = asked.get(entry.interrupt_id)
        if request is not None:  # otherwise another person was faster
            commands.append(answer_of(entry, request) or _stop(request))
    for command in commands:
        try:
            await carry_out(command, talk, who, service)
        except Refused as refused:
            if refused.code not in _ENDED:
                raise


def _stop(asked: OpenRequest) -> c.Interrupt:
    return c.Interrupt(payload=c.Stop(asked.turn_id or 1))


def _content_of(last: SentMessage) -> list[c.SentContent]:
    """Returns the content of a new message. Raises Refused if the message cannot be sent."""
    if not 0 < len(last.id) <= MOST_ID:
        raise Refused("INVALID_PAYLOAD", f"The id of a message has 1 to {MOST_ID} characters.")
    return content_of(last)


async def _send(
    service: Service, who: Who, talk: Talk, own_id: str, content: list[c.SentContent]
) -> ReplyReader | None:
    """Sends a message, and returns a reader that finds its turn.

    Returns None if it was sent before: the run then ends with what is left to do.
    """
    command = c.SendMessage(payload=c.NewMessage(content), client_message_id=own_id)
    head = (await service.engine.open(talk.id)).row.head
    sent = await carry_out(command, talk, who, service)
    if sent.duplicate:
        return None
    reader = ReplyReader(own_id, after=head)
    reader.acknowledged(sent.ack.turn_id, sent.ack.queue_id)
    return reader


# --- streams --------------------------------------------------------------------------------------


async def _stream(
    service: Service,
    request: Request,
    who: Who,
    talk: Talk,
    writer: AguiWriter,
    place: StreamPlace | None,
) -> Response:
    if place is None:
        head = (await service.engine.open(talk.id)).row.head
        start = Place(max(head - _MOST_ENTRIES, 0))
    else:
        start = Place(await _turn_began_after(service, talk, place.number), place.epoch)
    events = RunEvents(writer, talk.id, lambda: iso(service.engine.clock.now()))
    return EventStream(service, talk, start, who, events, service.agui, has_retry=False)


def _told(about: Run, messages: list[AguiMessage]) -> Response:
    """Returns the run of a thread in which nothing can happen: it has only messages."""
    ids = (about.thread_id, about.run_id)
    ours = {OURS: {**about.metadata}} if about.metadata else None
    told: list[e.Event] = [
        e.RunStarted(*ids, e.PROTOCOL_VERSION, ours),
        e.MessagesSnapshot(messages),
        e.RunFinished(*ids, e.Outcome("success")),
    ]
    return Response(b"".join(map(event_of, told)), 200, SAFE_HEADERS, "text/event-stream")


async def _messages(service: Service, request: Request, who: Who, talk: Talk) -> list[AguiMessage]:
    """Returns the history of a thread."""
    status = await talk.status()
    frames: list[f.Frame] = []
    head = (await service.talk(talk.id, who, closed=True)).row.head
    async with service.shares.of(who).costly():
        pages = pages_of(service.store, talk.id, max(head - _MOST_ENTRIES, 0), head)
        async with aclosing(pages):
            async for page in pages:
                frames += [as_frame(item, talk.id) for item in page]
    return messages_of(frames, status, blob_urls(request.scope))
