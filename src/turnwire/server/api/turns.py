"""Turns over plain HTTP: a message in, and its turn as server-sent events or as one JSON answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, Status, TurnEnd
from turnwire.core.times import iso
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import Reply, ReplyReader, ToolUse
from turnwire.dialects.v2.sent import Sent
from turnwire.engine import Talk
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.engine.fanout.follow import Place
from turnwire.engine.fanout.followers import V2
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_ID
from turnwire.server.api.problems import error_frame
from turnwire.server.api.responses import SAFE_HEADERS, json_answer, not_found, read_json, word
from turnwire.server.sent_messages import find_messages
from turnwire.server.service import Service
from turnwire.server.sockets.commands import carry_out
from turnwire.server.sse.stream import EventStream

__all__ = ["begin", "show"]

_EVENTS = "text/event-stream"
_KEY = re.compile(r"[\x21-\x7e]+")
_EVENT_ID = re.compile(r"(\d{1,18})(\.end)?")
_WAIT = re.compile(r"wait=\"?(\d{1,9})\"?")
_MOST_SECONDS = 600  # that a request waits for the end of its turn


class TurnJson(Struct, frozen=True, omit_defaults=True):
    """A turn in a response."""

    key: str  # the idempotency key of the message
    conversation_id: str
    state: str  # `queued`, `running`, `waiting` for a person, or `ended`
    turn_id: int | None = None  # absent while the message is queued
    text: str | None = None  # the agent's texts
    tools: list[ToolUse] | None = None
    requests: list[OpenRequest] = []  # the questions and permissions that wait
    end: TurnEnd | None = None  # how the turn ended


async def begin(service: Service, request: Request, who: Who) -> Response:
    """POST /api/conversations/{id}/turns"""
    talk = await _talk(service, request, who)
    key = _key_of(request) or service.engine.new_id()
    said = await read_json(request, c.NewMessage, service.settings)
    head = talk.row.head
    command = c.SendMessage(payload=said, client_message_id=key)
    sent = await carry_out(command, talk, who, service)
    if sent.duplicate:
        reader = await _reader_of(service, talk, who, key)
    else:
        reader = ReplyReader(key, after=head)
        reader.acknowledged(sent.ack.turn_id, sent.ack.queue_id)
    if _wants_events(request):
        return _stream(service, request, who, talk, key, reader)
    return await _answer(service, request, who, talk, key, reader)


async def show(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/turns?key="""
    talk = await _talk(service, request, who)
    key = word(request, "key")
    if key is None:
        raise Refused("INVALID_PAYLOAD", "Which turn? Add ?key= and the key of its message.")
    receipt = await service.store.receipt(talk.id, who.name, key)
    if receipt is None:
        return not_found(f"This user has sent no message with the key {key!r}.")
    reader = await _reader_of(service, talk, who, key)
    if _wants_events(request):
        return _stream(service, request, who, talk, key, reader)
    return await _answer(service, request, who, talk, key, reader)


# --- the request ----------------------------------------------------------------------------------


async def _talk(service: Service, request: Request, who: Who) -> Talk:
    if not service.speaks_v2:
        raise Refused("CHAT_PROTOCOL_DISABLED")
    return await service.talk(request.path_params["id"], who)


def _key_of(request: Request) -> str | None:
    """Returns the idempotency key of a request. Its header is a text, with or without quotes."""
    given = request.headers.get("idempotency-key")
    if given is None:
        return None
    key = given.strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not _KEY.fullmatch(key) or len(key) > MOST_ID:
        said = f"Idempotency-Key has 1 to {MOST_ID} characters of ASCII, without spaces."
        raise Refused("INVALID_PAYLOAD", said)
    return key


def _wants_events(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return _EVENTS in accepted and request.method != "HEAD"


def _seconds(request: Request, usual: int) -> tuple[int, str | None]:
    """Returns how long a request waits (RFC 7240), and the preference that was applied.

    Both preferences together mean: wait so long, then respond without the end.
    """
    given = ",".join(request.headers.getlist("prefer"))
    wishes = [wish.strip().lower() for wish in given.split(",")]
    for wish in wishes:
        if found := _WAIT.fullmatch(wish):
            seconds = min(int(found[1]), _MOST_SECONDS)
            return seconds, f"wait={seconds}"
    return (0, "respond-async") if "respond-async" in wishes else (usual, None)


def _location(request: Request, talk: Talk, key: str) -> str:
    root = request.scope.get("root_path", "")
    return f"{root}/api/conversations/{quote(talk.id, safe='')}/turns?key={quote(key, safe='')}"


async def _reader_of(service: Service, talk: Talk, who: Who, key: str) -> ReplyReader:
    """Returns a reader of the turn of a message that was sent before.

    A queued message is not in the log yet.
    """
    head = (await service.talk(talk.id, who)).row.head
    found = (await find_messages(service, who, talk, [key], own=True)).get(key)
    if found is not None:
        reader = ReplyReader(key, after=found.sequence - 1)
        reader.acknowledged(found.turn_id, None)
        return reader
    reader = ReplyReader(key, after=head)
    reader.acknowledged(None, key)  # not in the log: it waits in the queue, or was removed from it
    return reader


# --- one answer -----------------------------------------------------------------------------------


async def _answer(
    service: Service, request: Request, who: Who, talk: Talk, key: str, reader: ReplyReader
) -> Response:
    """Returns the turn: 200 if it has ended, else 202 with the address to ask again.

    A new message waits for the end of its turn, or until a person has to answer. A request for a
    turn waits only if it says so.
    """
    is_new = request.method == "POST"
    seconds, applied = _seconds(request, _MOST_SECONDS if is_new else 0)
    with service.hub.place(who):
        told = await _watch(talk, key, reader, seconds, who, until_asked=is_new)
    answer = json_answer(told, 202 if told.end is None else 200)
    answer.headers["Location"] = _location(request, talk, key)
    if applied is not None:
        answer.headers["Preference-Applied"] = applied
    return answer


async def _watch(
    talk: Talk, key: str, reader: ReplyReader, seconds: int, who: Who, *, until_asked: bool
) -> TurnJson:
    """Returns the turn when it has ended, or `seconds` after the log was read.

    `until_asked`: also when it waits for a person.
    """
    loop = asyncio.get_running_loop()
    status: Status | None = None
    frames = talk.follow(last_sequence=reader.cursor, client_id=who.client_id, user=who.name)
    try:
        async with asyncio.timeout(None) as limit, aclosing(frames):
            async for frame in frames:
                reply = reader.feed(frame)
                if reply is not None and (reply.end is not None or until_asked):
                    return _turn_json(talk, key, reply)
                if isinstance(frame, f.SessionState):
                    if status is None:
                        limit.reschedule(loop.time() + seconds)
                    status = frame.payload
                    if not seconds:
                        break
    except TimeoutError:
        pass
    except FollowAgain:
        pass  # the client asks again, perhaps another server
    turn_id = reader.turn_id
    requests = status.requests if status is not None else []
    own = [each for each in requests if turn_id is not None and each.turn_id == turn_id]
    state = "queued" if turn_id is None else "waiting" if own else "running"
    return TurnJson(key, talk.id, state, turn_id, requests=own)


def _turn_json(talk: Talk, key: str, reply: Reply) -> TurnJson:
    state = "waiting" if reply.end is None else "ended"
    said = (reply.text, reply.tools, reply.requests, reply.end)
    return TurnJson(key, talk.id, state, reply.turn_id, *said)


# --- a stream of events ---------------------------------------------------------------------------


def _stream(
    service: Service, request: Request, who: Who, talk: Talk, key: str, reader: ReplyReader
) -> Response:
    """Returns the frames of the conversation until the turn has ended."""
    given = request.headers.get("last-event-id")
    found = None if given is None else _EVENT_ID.fullmatch(given)
    if given is not None and found is None:
        said = f"Last-Event-ID is {given!r}: it has to be the id of an event of this stream."
        raise Refused("INVALID_PAYLOAD", said)
    if found is not None and found[2]:  # a browser connects again until it gets this answer
        return Response(status_code=204, headers=SAFE_HEADERS)
    reader.keeps_frames = False
    place = Place(max(reader.cursor, int(found[1]) if found is not None else 0))
    writer = _TurnEvents(reader, talk.id, lambda: iso(service.engine.clock.now()))
    headers = {"Location": _location(request, talk, key)}
    return EventStream(service, talk, place, who, writer, V2, headers)


class _TurnEvents:
    """Writes the frames of protocol v2 as events, until one turn has ended."""

    def __init__(self, reader: ReplyReader, conversation_id: str, now: Callable[[], str]) -> None:
        self.is_over = False
        self._reader = reader
        self._conversation_id = conversation_id
        self._now = now

    def events(self, sent: Sent, sequence: int) -> list[bytes | memoryview]:
        """Returns a frame as an event. The id of an entry's event is its number in the log."""
        reply = self._reader.feed(sent.frame)
        head = b"data: "
        if sent.number is not None:
            head = b"id: %d\ndata: " % sent.number
        elif reply is not None and reply.end is not None:
            self.is_over = True
            head = b"id: %d.end\ndata: " % reply.end.after_sequence
        if sent.is_large:
            return [head, *sent.pieces(sequence), b"\n\n"]
        return [head + sent.at(sequence) + b"\n\n"]

    def error(self, refused: Refused) -> Sent:
        """Returns the frame with the reason why the stream ends early."""
        return Sent(error_frame(refused, self._conversation_id, self._now()))
