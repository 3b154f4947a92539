"""The HTTP interface for `useChat`: sends a message, resumes a stream, and reads the history."""

from __future__ import annotations

from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.engine.export.jsonl import as_frame
from turnwire.engine.fanout.follow import Place
from turnwire.engine.fanout.log_pages import pages_of
from turnwire.server.access.keys import Who
from turnwire.server.aisdk import chats
from turnwire.server.api.responses import SAFE_HEADERS, blob_urls, json_answer, number, read_json
from turnwire.server.service import Service
from turnwire.server.sse.stream import EventStream
from turnwire.server.sse.turn_events import TurnEvents
from turnwire.turn_streams.aisdk.history import history_of
from turnwire.turn_streams.aisdk.requests import ChatRequest
from turnwire.turn_streams.aisdk.sent import UiSent, event_of
from turnwire.turn_streams.aisdk.writer import UiWriter
from turnwire.turn_streams.place import place_of

__all__ = ["messages", "resume", "stop", "submit"]

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_DONE = b"data: [DONE]\n\n"
_MOST_ENTRIES = 5000  # of the log that a history is made from


async def submit(service: Service, request: Request, who: Who) -> Response:
    """POST /api/chat: a new message, an edited one, another answer, or answers to requests."""
    version = _version(request)
    said = await read_json(request, ChatRequest, service.settings, is_chat=True)
    return _stream(service, request, who, await chats.send(service, who, said), version)


async def resume(service: Service, request: Request, who: Who) -> Response:
    """GET /api/chat/{chat}/stream: the turn that runs, from its beginning; 204 if none runs."""
    version = _version(request)
    given = request.headers.get("last-event-id")
    place = None if given is None else place_of(given)
    answer = await chats.running(service, who, request.path_params["chat"], place)
    if answer is None or request.method == "HEAD":
        return Response(status_code=204, headers=SAFE_HEADERS)
    return _stream(service, request, who, answer, version)


async def messages(service: Service, request: Request, who: Who) -> Response:
    """GET /api/chat/{chat}/messages: the history as UI messages."""
    version = _version(request)
    talk = await chats.find(service, who, request.path_params["chat"], closed=True)
    if talk is None:
        return json_answer({"messages": []})
    frames: list[f.Frame] = []
    status = await talk.status()
    head = (await service.talk(talk.id, who, closed=True)).row.head
    async with service.shares.of(who).costly():
        pages = pages_of(service.store, talk.id, max(head - _MOST_ENTRIES, 0), head)
        async with aclosing(pages):
            async for page in pages:
                frames += [as_frame(item, talk.id) for item in page]
    told = history_of(frames, status, version=version, blob_url=blob_urls(request.scope))
    return json_answer({"messages": told, "conversation": talk.id})


async def stop(service: Service, request: Request, who: Who) -> Response:
    """POST /api/chat/{chat}/stop: interrupts the turn that runs, if one does."""
    await chats.stop(service, who, request.path_params["chat"])
    return Response(status_code=204, headers=SAFE_HEADERS)


def _version(request: Request) -> int:
    """Returns the version of the package `ai` that reads the stream. All since 6 read the same."""
    return number(request, "version", 7, least=5, most=99) or 7


def _stream(
    service: Service, request: Request, who: Who, answer: chats.Answer, version: int
) -> Response:
    talk = answer.talk
    writer = UiWriter(
        answer.reader, after=answer.after, version=version, blob_url=blob_urls(request.scope)
    )
    events = TurnEvents(
        writer, event_of, UiSent, talk.id, lambda: iso(service.engine.clock.now()), last=_DONE
    )
    place = Place(answer.reader.cursor)
    return EventStream(service, talk, place, who, events, service.aisdk, _HEADERS, has_retry=False)
