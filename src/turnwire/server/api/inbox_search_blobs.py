"""HTTP handlers for the inbox, search, agents, budget, blobs, tickets and the audit trail."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import to_builtins
from starlette.requests import Request
from starlette.responses import Response

from turnwire.agents.listing import facts_of
from turnwire.core.content import Blob
from turnwire.core.error_codes import Refused
from turnwire.core.pictures import is_concrete, true_type
from turnwire.core.times import iso
from turnwire.dialects.v2.codec import read_command
from turnwire.ports import OverQuota
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import (
    SAFE_HEADERS,
    json_answer,
    json_list,
    not_found,
    number,
    read_body,
    read_json,
    word,
)
from turnwire.server.new_conversation import options_for
from turnwire.server.service import Service
from turnwire.server.sockets.commands import ack_of, carry_out
from turnwire.stores.query import Query

__all__ = [
    "agents",
    "answer",
    "audit",
    "blob_answer",
    "budget",
    "get_blob",
    "inbox",
    "put_blob",
    "search",
    "ticket",
]

# Media types that a browser may show. It has to save blobs of all other types.
_SOON = 0.3  # seconds: the list of agents does not wait longer for a version
_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


async def budget(service: Service, request: Request, who: Who) -> Response:
    """GET /api/budget: the budget of this user, and what is spent of it."""
    found = await service.engine.budget_of(who.user)
    period = service.settings.budget_period
    said = None if found is None else {"period": period, **to_builtins(found)}
    return json_answer({"budget": said})


async def inbox(service: Service, request: Request, who: Who) -> Response:
    """GET /api/inbox"""
    return await json_list("items", await service.store.inbox(user=who.user), _as_it_is)


async def answer(service: Service, request: Request, who: Who) -> Response:
    """POST /api/inbox/{item}/answer: the body is the payload of the answering frame."""
    name = request.path_params["item"]
    item = await service.store.inbox_item(name, user=who.user)
    if item is None:
        raise Refused("INVALID_QUESTION_ID", f"There is no item {name!r} in this inbox.")
    said = await read_json(request, dict[str, Any], service.settings)
    own_id = said.pop("client_message_id", None)
    if item.request.kind == "question":
        kind, asked = "user.input_response", {"question_id": item.request.request_id}
    else:
        kind, asked = "user.permission_response", {"request_id": item.request.request_id}
    frame = {"type": kind, "payload": {**said, **asked}}
    if own_id is not None:
        frame["client_message_id"] = own_id
    command = read_command(frame)
    talk = await service.talk(item.conversation_id, who)
    given = await carry_out(command, talk, who, service)
    ack = ack_of(command, given, talk.id, "")
    return json_answer(ack.payload)  # type: ignore[attr-defined]  # every ack has one


async def search(service: Service, request: Request, who: Who) -> Response:
    """GET /api/search?q=&conversation=&limit="""
    words = word(request, "q")
    if words is None:
        raise Refused("INVALID_PAYLOAD", "The words to search for are missing: ?q=words")
    limit = number(request, "limit", 50, least=1, most=500) or 50
    async with service.shares.of(who).costly():
        hits = await service.store.search(
            words, user=who.user, conversation_id=word(request, "conversation"), limit=limit
        )
        ignored = Query(words).ignored
    more = {"ignored_words": ignored} if ignored else {}
    return await json_list("hits", hits, _as_it_is, **more)


async def agents(service: Service, request: Request, who: Who) -> Response:
    """GET /api/agents"""
    engine = service.engine
    about = await asyncio.gather(
        *(facts_of(agent, patience=_SOON) for agent in engine.agents.values())
    )
    told = [
        {
            "name": name,
            "description": facts.description,
            "version": facts.version,
            "ready": (why := engine.unavailable(name)) is None,
            "unavailable": why,
            "default": name == service.usual_agent,
            "abilities": facts.abilities,
            "capabilities": engine.capabilities(name, is_owner=who.is_owner),
            "options": options_for(agent.capabilities, who),
        }
        for (name, agent), facts in zip(engine.agents.items(), about, strict=True)
    ]
    return json_answer({"agents": told})


async def put_blob(service: Service, request: Request, who: Who) -> Response:
    """POST /api/blobs"""
    mime_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if not is_concrete(mime_type):
        raise Refused("INVALID_FORMAT", "Send the media type as Content-Type: image/png, ...")
    about = word(request, "conversation")
    if about is not None:
        await service.talk(about, who)
    data = await read_body(request, service.settings.max_blob_bytes, "max_blob_bytes")
    if not data:
        raise Refused("INVALID_PAYLOAD", "The body is empty.")
    mime_type = true_type(mime_type, data) or mime_type
    blob_id = service.engine.new_id()
    at = iso(service.engine.clock.now())
    quota = None if who.user is None else service.settings.max_user_blob_bytes
    try:
        await service.store.put_blob(
            blob_id, data, mime_type, at=at, user=who.user, conversation_id=about, quota=quota
        )
    except OverQuota as over:
        room = f"{over.message.removesuffix('.')} (max_user_blob_bytes)."
        said = f"{room} Delete conversations with pictures that you do not need."
        raise Refused("PAYLOAD_TOO_LARGE", said, **over.data) from None
    return json_answer(Blob(blob_id, mime_type, len(data)), 201)


async def get_blob(service: Service, request: Request, who: Who) -> Response:
    """GET /api/blobs/{blob_id}"""
    try:
        row = await service.readable_blob(request.path_params["blob_id"], who)
    except Refused as refused:
        return not_found(refused.message)
    found = await service.store.get_blob(row.blob_id)
    assert found is not None
    answer = blob_answer(*found)
    answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return answer


def blob_answer(data: bytes, mime_type: str) -> Response:
    """Returns the response with a blob. A browser shows pictures, and saves everything else."""
    shown = mime_type in _SHOWN
    headers = {**SAFE_HEADERS, "Content-Disposition": "inline" if shown else "attachment"}
    return Response(data, 200, headers, mime_type if shown else "application/octet-stream")


async def ticket(service: Service, request: Request, who: Who) -> Response:
    """POST /api/tickets: creates a ticket for one WebSocket, valid for a minute."""
    given, expires = await service.keys.ticket(who)
    return json_answer({"ticket": given, "expires_at": iso(expires)}, 201)


async def audit(service: Service, request: Request, who: Who) -> Response:
    """GET /api/audit: all rows for the owner, rows of one own conversation for other users."""
    about = word(request, "conversation")
    if about is not None and who.user is not None:
        await service.talk(about, who, closed=True)
    elif who.user is not None:
        raise Refused("FORBIDDEN", "Name one of your conversations: ?conversation=ID")
    after = number(request, "after", 0) or 0
    limit = number(request, "limit", 100, least=1, most=500) or 100
    rows = await service.store.audit(conversation_id=about, after=after, limit=limit)
    return await json_list("audit", rows, _as_it_is)


def _as_it_is(item: Any) -> Any:
    return item
