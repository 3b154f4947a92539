"""HTTP handlers for signing in with a link, the account of the user, and signing out."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.server.access.auth import cookie_name
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import SAFE_HEADERS, json_answer, read_json
from turnwire.server.service import Service

__all__ = ["enter", "me", "sign_out"]

_PAGE_SECONDS = 30 * 24 * 3600


class _Entering(Struct, forbid_unknown_fields=True):
    link: str


class MeJson(Struct, frozen=True, omit_defaults=True):
    """The user of a request, and how the user was authenticated."""

    name: str  # as in the log
    is_owner: bool
    signed_in_by: Literal["browser", "token", "application"]
    token_id: str | None = None  # absent for users of the application
    token_name: str | None = None  # of a token that has one
    since: str | None = None  # absent if only the application knows
    until: str | None = None  # absent if it does not expire


async def enter(service: Service, request: Request) -> Response:
    """POST /enter: exchanges a link for a cookie and a page key, once.

    GET serves the page, which sends the POST. So a program that only previews links uses none up.
    """
    service.gate.origin(request.scope, service.gate.host(request.scope), without=True)
    wish = await read_json(request, _Entering, service.settings)
    entered = await service.keys.enter(wish.link)
    if entered is None:
        said = "This link was used or has expired. Make another: turnwire token link"
        raise Refused("FORBIDDEN", said)
    cookie, page_key, token = entered
    answer = json_answer({"page_key": page_key}, 201)
    _set_cookie(service, request, answer, cookie, _PAGE_SECONDS)
    service.write_down("entered", Who(token.user, token.token_id))
    return answer


async def me(service: Service, request: Request, who: Who) -> Response:
    """GET /api/me"""
    if who.is_of_application:
        return json_answer(MeJson(who.name, who.is_owner, "application"))
    token = await service.keys.token_of(who)
    is_page = token.kind == "page"
    told = MeJson(
        who.name,
        who.is_owner,
        "browser" if is_page else "token",
        token.token_id,
        None if is_page else token.name,
        token.created_at,
        None if token.expires_at is None else iso(token.expires_at),
    )
    return json_answer(told)


async def sign_out(service: Service, request: Request, who: Who) -> Response:
    """POST /api/sign-out: ends the session of a browser, in all of its tabs."""
    if who.is_of_application:
        said = "The application signs its users out: see the setting `logout_url`."
        raise Refused("FORBIDDEN", said)
    token = await service.keys.token_of(who)
    if token.kind != "page":
        said = f"Only browsers sign out. Revoke the token: turnwire token revoke {token.token_id}"
        raise Refused("FORBIDDEN", said)
    await service.revoke(who.token_id, who.name)
    answer = Response(status_code=204, headers=SAFE_HEADERS)
    _set_cookie(service, request, answer, "", 0)
    return answer


def _set_cookie(
    service: Service, request: Request, answer: Response, cookie: str, seconds: int
) -> None:
    """Sets the cookie of the page; 0 seconds delete it."""
    host = service.gate.host(request.scope)
    answer.set_cookie(
        cookie_name(host),
        cookie,
        max_age=seconds,
        path=f"{request.scope.get('root_path', '')}/",
        secure=request.url.scheme == "https" or service.public.is_secure(host),
        httponly=True,
        samesite="strict",
    )
