"""HTTP handlers for share links: make, list and end them, and read what a link shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.errors import TurnwireError
from turnwire.long_work import LongWork
from turnwire.ports import ConversationRow, StoredEntry
from turnwire.server.access.auth import bearer_in
from turnwire.server.access.gate import headers_of
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_PAGE
from turnwire.server.access.share_links import DAYS, MOST_DAYS, ShareLink
from turnwire.server.api.conversations import with_ends
from turnwire.server.api.inbox_search_blobs import blob_answer
from turnwire.server.api.problems import refusal_of
from turnwire.server.api.responses import (
    HOST,
    SAFE_HEADERS,
    json_answer,
    json_list,
    not_found,
    number,
    problem,
    read_json,
)
from turnwire.server.service import Service
from turnwire.server.shared_frames import shared_frame

__all__ = ["blob", "end", "messages", "share", "shares", "show"]

_MOST = 500  # maximum items in a response
_OFF = "This server makes and shows no share links: its setting `sharing` is off."

_Read: TypeAlias = Callable[[Service, Request, ShareLink, ConversationRow], Awaitable[Response]]
_Handler: TypeAlias = Callable[[Service, Request], Awaitable[Response]]


class NewShare(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a new share link."""

    days: Annotated[int, Meta(ge=1, le=MOST_DAYS)] = DAYS  # until it expires


class ShareJson(Struct, frozen=True, omit_defaults=True):
    """A share link in a response."""

    share_id: str
    through: int  # the last entry that it shows
    created_at: str
    expires_at: str
    link: str | None = None  # only in the response to its creation


class SharedJson(Struct, frozen=True, omit_defaults=True):
    """A conversation, as a share link shows it."""

    agent: str
    created_at: str
    through: int
    expires_at: str  # of the link
    title: str | None = None


# --- for users ----------------------------------------------------------------------------------


async def share(service: Service, request: Request, who: Who) -> Response:
    """POST /api/conversations/{id}/shares: a link to what was said until now."""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    _check_setting(service)
    wanted = await read_json(request, NewShare, service.settings)
    secret, link = await service.share_links.make(talk.id, who, wanted.days)
    return json_answer(_json(link, f"{_page(service, request)}/shared#{secret}"), 201)


async def shares(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/shares: the valid links, without their secrets."""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    return await json_list("shares", await service.share_links.of(talk.row), _json)


async def end(service: Service, request: Request, who: Who) -> Response:
    """DELETE /api/conversations/{id}/shares/{share_id}"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    await service.end_share(talk.row, request.path_params["share_id"], who)
    return Response(status_code=204, headers=SAFE_HEADERS)


def _json(link: ShareLink, address: str | None = None) -> ShareJson:
    return ShareJson(link.share_id, link.through, link.created_at, iso(link.expires_at), address)


def _page(service: Service, request: Request) -> str:
    """Returns the address of the page: the public one, or that of this request."""
    if service.public.url:
        return service.public.url
    return f"{request.url.scheme}://{request.scope[HOST]}{request.scope.get('root_path', '')}"


def _check_setting(service: Service) -> None:
    if not service.settings.sharing:
        raise Refused("FORBIDDEN", _OFF)


# --- for people with a link ---------------------------------------------------------------------


def _for_readers(handler: _Read) -> _Handler:
    """Returns a handler that first checks the link and its limits.

    The secret is read from the Authorization header only. Cookies, page keys, tickets and users of
    the application do not count here.
    """

    @wraps(handler)
    async def handle(service: Service, request: Request) -> Response:
        try:
            _check_setting(service)
            link, row = await service.share_links.opened(_secret_in(request))
            service.gate.origin(request.scope, request.scope[HOST], without=True)
            limits = service.shares.of(link.reader)
            limits.count_request()
            answer = await limits.timed(_coroutine(handler(service, request, link, row)))
        except TurnwireError as error:
            answer = problem(refusal_of(error))
        answer.headers["X-Robots-Tag"] = "noindex"
        return answer

    return handle


async def _coroutine(work: Awaitable[Response]) -> Response:
    return await work


def _secret_in(request: Request) -> str:
    given = headers_of(request.scope, b"authorization")
    secret = bearer_in(given[0]) if len(given) == 1 else None
    if secret is None:
        said = "Send the secret of the link, after its #, as Authorization: Bearer."
        raise Refused("UNAUTHORIZED", said)
    return secret


@_for_readers
async def show(
    service: Service, request: Request, link: ShareLink, row: ConversationRow
) -> Response:
    """GET /api/shared: what the link shows."""
    expires = iso(link.expires_at)
    return json_answer(SharedJson(row.agent, row.created_at, link.through, expires, row.title))


@_for_readers
async def messages(
    service: Service, request: Request, link: ShareLink, row: ConversationRow
) -> Response:
    """GET /api/shared/messages: each item is the payload of a message.replay.

    `first` is the first entry of the page, shown or not: the page before ends before it.
    """
    limit = number(request, "limit", 50, least=1, most=_MOST) or 50
    end = link.through + 1
    before = min(number(request, "before", end) or 0, end)
    found = await service.store.entries(
        row.conversation_id, before=before, limit=limit, newest=True, size=MOST_PAGE
    )
    first = found[0].sequence if found else 1
    shown = []
    work = LongWork()
    for item in await with_ends(service, row.conversation_id, found):
        if work.is_due:
            await work.give_way()
        frame = shared_frame(item, link.hidden)
        if frame is not None:
            at = item.sequence if isinstance(item, StoredEntry) else None
            shown.append(f.Replay(at, frame))  # type: ignore[arg-type]  # it is a server frame
    return await json_list(
        "messages",
        shown,
        lambda each: each,
        through=link.through,
        first=first,
        has_more=first > 1,
    )


@_for_readers
async def blob(
    service: Service, request: Request, link: ShareLink, row: ConversationRow
) -> Response:
    """GET /api/shared/blobs/{blob_id}: a blob that a shown entry refers to."""
    blob_id = request.path_params["blob_id"]
    found = None
    if blob_id in await service.shared_blobs.of(link, service.shares.of(link.reader)):
        found = await service.store.get_blob(blob_id)
    if found is None:
        return not_found("The link shows no such blob.")
    return blob_answer(*found)
