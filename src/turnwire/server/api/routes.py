"""The routes of the HTTP interface, and the checks that every request has to pass."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from turnwire.core.error_codes import Refused
from turnwire.errors import TurnwireError
from turnwire.server.access.keys import Who
from turnwire.server.agui import runs
from turnwire.server.aisdk import chat
from turnwire.server.api import (
    account,
    changes,
    controls,
    conversations,
    directories,
    files,
    inbox_search_blobs,
    inspector,
    page,
    places,
    rules,
    shared,
    turns,
)
from turnwire.server.api.cors import is_preflight, preflight_answer, with_cors_headers
from turnwire.server.api.problems import refusal_of
from turnwire.server.api.responses import HOST, json_answer, not_allowed, not_found, problem
from turnwire.server.service import Service

__all__ = ["Door", "make_router"]

_log = logging.getLogger("turnwire")

_Handler: TypeAlias = Callable[[Service, Request], Awaitable[Response]]
_Guarded: TypeAlias = Callable[[Service, Request, Who], Coroutine[Any, Any, Response]]

# Every address for authenticated users: the path, the method and the handler.
API: list[tuple[str, str, _Guarded]] = [
    ("/api/conversations", "POST", conversations.create),
    ("/api/conversations", "GET", conversations.list_all),
    ("/api/conversations/{id}", "GET", conversations.show),
    ("/api/conversations/{id}", "PATCH", conversations.change),
    ("/api/conversations/{id}", "DELETE", conversations.delete),
    ("/api/conversations/{id}/fork", "POST", conversations.fork),
    ("/api/conversations/{id}/messages", "GET", conversations.messages),
    ("/api/conversations/{id}/messages/{sequence}", "GET", inspector.layers),
    ("/api/conversations/{id}/export", "GET", conversations.export),
    ("/api/conversations/{id}/files", "GET", files.files),
    ("/api/conversations/{id}/shares", "POST", shared.share),
    ("/api/conversations/{id}/shares", "GET", shared.shares),
    ("/api/conversations/{id}/shares/{share_id}", "DELETE", shared.end),
    ("/api/conversations/{id}/rules", "GET", rules.of_conversation),
    ("/api/conversations/{id}/rules/{rule_id}", "DELETE", rules.forget),
    ("/api/conversations/{id}/requests/{request_id}/places", "GET", places.places),
    ("/api/conversations/{id}/turns", "POST", turns.begin),
    ("/api/conversations/{id}/turns", "GET", turns.show),
    ("/api/conversations/{id}/rewind", "POST", controls.rewind),
    ("/api/conversations/{id}/control", "POST", controls.control),
    ("/api/conversations/{id}/mcp", "GET", controls.mcp),
    ("/api/conversations/{id}/context", "GET", controls.context),
    ("/api/conversations/{id}/models", "GET", controls.models),
    ("/api/conversations/{id}/commands", "GET", controls.commands),
    ("/api/chat", "POST", chat.submit),
    ("/api/chat/{chat}/stream", "GET", chat.resume),
    ("/api/chat/{chat}/messages", "GET", chat.messages),
    ("/api/chat/{chat}/stop", "POST", chat.stop),
    ("/agui", "POST", runs.run),
    ("/agui/agents/{agent}", "POST", runs.run),
    ("/agui/capabilities", "GET", runs.capabilities),
    ("/agui/agents/{agent}/capabilities", "GET", runs.capabilities),
    ("/agui/threads/{thread}/stream", "GET", runs.connect),
    ("/agui/threads/{thread}/messages", "GET", runs.messages),
    ("/agui/threads/{thread}/stop", "POST", runs.stop),
    ("/api/budget", "GET", inbox_search_blobs.budget),
    ("/api/rules", "GET", rules.list_all),
    ("/api/search", "GET", inbox_search_blobs.search),
    ("/api/inbox", "GET", inbox_search_blobs.inbox),
    ("/api/inbox/{item}/answer", "POST", inbox_search_blobs.answer),
    ("/api/changes", "GET", changes.changes),
    ("/api/agents", "GET", inbox_search_blobs.agents),
    ("/api/directories", "GET", directories.list_directories),
    ("/api/directories/files", "GET", files.files_in),
    ("/api/blobs", "POST", inbox_search_blobs.put_blob),
    ("/api/blobs/{blob_id}", "GET", inbox_search_blobs.get_blob),
    ("/api/tickets", "POST", inbox_search_blobs.ticket),
    ("/api/audit", "GET", inbox_search_blobs.audit),
    ("/api/me", "GET", account.me),
    ("/api/sign-out", "POST", account.sign_out),
]

_MOST_PARAMETERS = 100  # maximum in a query: parsing thousands takes long


def make_router(service: Service) -> Door:
    """Returns the ASGI application with all addresses of one server."""
    by_path: dict[str, dict[str, _Handler]] = {}
    for path, method, guarded in API:
        by_path.setdefault(path, {})[method] = _guarded(guarded)
    for path, method, handler in OPEN:
        by_path.setdefault(path, {})[method] = handler
    routes = [Route(path, _Place(service, methods)) for path, methods in by_path.items()]
    return Door(service, Router(routes, default=_nowhere, redirect_slashes=False))


class Door:
    """Checks the Host and Origin of every HTTP request, before it is routed."""

    def __init__(self, service: Service, inside: Router) -> None:
        self._service = service
        self._inside = inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gate = self._service.gate
        try:
            scope[HOST] = gate.host(scope)
        except Refused as refused:
            await problem(refused)(scope, receive, send)
            return
        if scope.get("query_string", b"").count(b"&") >= _MOST_PARAMETERS:
            said = f"No more than {_MOST_PARAMETERS} parameters in an address."
            await problem(Refused("INVALID_PAYLOAD", said))(scope, receive, send)
            return
        origin = gate.page(scope)
        if gate.knows_pages:
            send = with_cors_headers(origin, send)
        if origin is not None and is_preflight(scope):
            await preflight_answer()(scope, receive, send)
        else:
            await self._inside(scope, receive, send)


class _Place:
    """The handlers of one address, by method. Every error becomes a response."""

    def __init__(self, service: Service, methods: dict[str, _Handler]) -> None:
        self._service = service
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer = await self._answer(request)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        handler = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            return not_allowed(request.method, [*self._methods])
        try:
            return await handler(self._service, request)
        except TurnwireError as error:
            return problem(refusal_of(error))
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            return problem(Refused("INTERNAL_ERROR"))


def _guarded(handler: _Guarded) -> _Handler:
    """Returns a handler that first authenticates the user and checks their limits."""

    async def handle(service: Service, request: Request) -> Response:
        who = await service.auth.who(dict(request.scope), request.scope[HOST])
        share = service.shares.of(who)
        share.count_request()
        metered = Request(request.scope, share.metered(request.receive))
        return await share.timed(handler(service, metered, who))

    return handle


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    said = "There is nothing at this address."
    headers = Headers(scope=scope)
    answer = not_found(said)
    if scope["type"] == "http" and "text/html" in headers.get("accept", ""):  # a person's browser
        answer = page.notice(scope.get("root_path", ""), "Not found", said, 404)
    await answer(scope, receive, send)


async def _health(service: Service, request: Request) -> Response:
    """GET /healthz: the server answers, and how long its longest pause was."""
    pause = round(service.watchdog.longest * 1000)
    return json_answer({"status": "ok", "longest_pause_ms": pause})


async def _ready(service: Service, request: Request) -> Response:
    """GET /readyz: the store can be read and written, and the server is not about to stop."""
    if service.is_draining:
        raise Refused("STORAGE_UNAVAILABLE", "The server is stopping.")
    await service.check_store()
    return json_answer({"status": "ready"})


# Every address that needs no user. `/api/shared` needs the secret of a share link.
OPEN: list[tuple[str, str, _Handler]] = [
    ("/healthz", "GET", _health),
    ("/readyz", "GET", _ready),
    ("/enter", "POST", account.enter),
    ("/api/shared", "GET", shared.show),
    ("/api/shared/messages", "GET", shared.messages),
    ("/api/shared/blobs/{blob_id}", "GET", shared.blob),
    ("/assets/{name}", "GET", page.asset),
    ("/offline", "GET", page.offline),
    *((path, "GET", page.fixed_file) for path in page.FILES),
    *((path, "GET", page.page) for path in page.PAGES),
]
