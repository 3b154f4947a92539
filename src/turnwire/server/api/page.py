"""Serves the files of the page, which are built from `web/` and are part of the package."""

from __future__ import annotations

import asyncio
import gzip
import html
import re
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from turnwire.server.api.responses import SAFE_HEADERS, not_found
from turnwire.server.service import Service

__all__ = ["PAGES", "asset", "notice", "page"]

# Every address of the page in a browser. The page's own router shows the right view.
PAGES = ["/", "/new", "/inbox", "/search", "/settings", "/c/{id}", "/enter"]

_BUILT = Path(__file__).parents[2] / "web"

# Allows only resources of this server, and nothing inline: no scripts, no styles, no markup from
# strings (trusted types). Pictures that a person has chosen but not sent yet are `blob:`.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
_PAGE_HEADERS = {
    **SAFE_HEADERS,
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_ASSET_HEADERS = {
    **SAFE_HEADERS,
    "Cache-Control": "public, max-age=31536000, immutable",  # its name changes with its content
    "Vary": "Accept-Encoding",
}


# Tells the page that users sign in to the surrounding application.
_OF_APPLICATION = '<meta name="turnwire-sign-in" content="application">'


async def page(service: Service, request: Request) -> Response:
    """GET / and the other addresses of the page.

    The page has no data; it loads them over the API.
    """
    index, root = _index(), request.scope.get("root_path", "")
    if index is None:
        said = (
            "This copy was built without the page. Talk to an agent from a terminal: turnwire chat"
        )
        return notice(root, "Turnwire", said, 200)
    base = html.escape(f"{root}/")
    shown = index.replace('<base href="/"', f'<base href="{base}"', 1)
    if service.settings.authenticate is not None:
        login = html.escape(service.settings.login_url)
        told = f'{_OF_APPLICATION}<meta name="turnwire-login" content="{login}">'
        shown = shown.replace("</head>", f"{told}</head>", 1)
    return HTMLResponse(shown, 200, _PAGE_HEADERS)


async def asset(service: Service, request: Request) -> Response:
    """GET /assets/{name}"""
    assets = await asyncio.to_thread(_assets)  # the first call compresses them, which takes long
    found = assets.get(request.path_params["name"])
    if found is None:
        return not_found("There is no such file. Load the page again.")
    plain, packed, mime_type = found
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, 200, {**_ASSET_HEADERS, "Content-Encoding": "gzip"}, mime_type)
    return Response(plain, 200, _ASSET_HEADERS, mime_type)


def notice(root: str, title: str, said: str, status: int) -> Response:
    """Returns a short text as HTML, in the style of the page."""
    body = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<base href="{html.escape(root)}/">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{html.escape(title)}</title>'
        f'{_style()}</head><body><main class="entry-page"><div class="empty">'
        f"{_icon()}<h1>{html.escape(title)}</h1><p>{html.escape(said)}</p>"
        f'<a class="button" href="./">Open Turnwire</a></div></main></body></html>'
    )
    return HTMLResponse(body, status, _PAGE_HEADERS)


def _style() -> str:
    """Returns the links to the styles of the page; empty in a copy without the page."""
    return "".join(re.findall(r'<link rel="(?:icon|stylesheet)"[^>]*>', _index() or ""))


def _icon() -> str:
    found = re.search(r'<link rel="icon" href="([^"]*)"', _index() or "")
    return f'<img class="mark" src="{found[1]}" alt="">' if found else ""


@cache
def _index() -> str | None:
    file = _BUILT / "index.html"
    return file.read_text("utf-8") if file.is_file() else None


@cache
def _assets() -> dict[str, tuple[bytes, bytes | None, str]]:
    """Returns every asset by its name, plain and compressed.

    No other file on disk can be requested.
    """
    found = {}
    for file in sorted((_BUILT / "assets").glob("*")):
        plain = file.read_bytes()
        packed = gzip.compress(plain, 9, mtime=0)
        mime_type = guess_type(file.name)[0] or "application/octet-stream"
        if mime_type == "text/javascript" or mime_type.startswith("text/"):
            mime_type += "; charset=utf-8"
        smaller = packed if len(packed) < len(plain) else None
        found[file.name] = (plain, smaller, mime_type)
    return found
