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

__all__ = ["FILES", "PAGES", "asset", "fixed_file", "notice", "offline", "page"]

# Every address of the page in a browser. The page's own router shows the right view.
PAGES = ["/", "/new", "/inbox", "/search", "/settings", "/c/{id}", "/enter", "/shared"]

# Files with a fixed address: the page can be installed with them. They are the same for every user.
FILES = {
    "/manifest.webmanifest": "application/manifest+json",
    "/worker.js": "text/javascript; charset=utf-8",
    "/icon.svg": "image/svg+xml",
    "/icon-192.png": "image/png",
    "/icon-512.png": "image/png",
    "/icon-maskable.png": "image/png",
}

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
        "manifest-src 'self'",
        "worker-src 'self'",
        "frame-src 'self'",  # only the frame in which a diagram is drawn
        "base-uri 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types turnwire-worker",  # allows one address: that of the worker
    ]
)
_PAGE_HEADERS = {
    **SAFE_HEADERS,
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_SHARED_HEADERS = {**_PAGE_HEADERS, "X-Robots-Tag": "noindex"}
_ASSET_HEADERS = {
    **SAFE_HEADERS,
    "Cache-Control": "public, max-age=31536000, immutable",  # its name changes with its content
    "Vary": "Accept-Encoding",
}
# A new build counts at once: the browser asks for the worker and the manifest each time.
_FILE_HEADERS = {
    **SAFE_HEADERS,
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
}
_ICON_HEADERS = {**SAFE_HEADERS, "Cache-Control": "public, max-age=86400"}

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
    shown = _based(index, root)
    if service.settings.authenticate is not None:
        told = _OF_APPLICATION
        told += _meta("turnwire-login", service.settings.login_url)
        told += _meta("turnwire-logout", service.settings.logout_url)
        shown = shown.replace("</head>", f"{told}</head>", 1)
    is_shared = request.url.path.endswith("/shared")
    return HTMLResponse(shown, 200, _SHARED_HEADERS if is_shared else _PAGE_HEADERS)


async def offline(service: Service, request: Request) -> Response:
    """GET /offline

    The worker of the page keeps it, and shows it while the server cannot be reached.
    """
    root = request.scope.get("root_path", "")
    shown = _file("offline.html")
    if shown is None:
        return not_found("This copy was built without the page.")
    return HTMLResponse(_based(shown.decode(), root), 200, _PAGE_HEADERS)


async def fixed_file(service: Service, request: Request) -> Response:
    """GET one of `FILES`."""
    name = request.url.path.rpartition("/")[2]
    found, mime_type = _file(name), FILES[f"/{name}"]
    if found is None:
        return not_found("This copy was built without the page.")
    return Response(found, 200, _ICON_HEADERS if "image" in mime_type else _FILE_HEADERS, mime_type)


def _based(index: str, root: str) -> str:
    """Returns the HTML with the address of the page in `<base>`."""
    return index.replace('<base href="/"', f'<base href="{html.escape(root)}/"', 1)


def _meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{html.escape(content)}">'


async def asset(service: Service, request: Request) -> Response:
    """GET /assets/{name}"""
    assets = await asyncio.to_thread(_assets)  # the first call compresses them, which takes long
    found = assets.get(request.path_params["name"])
    if found is None:
        return not_found("There is no such file. Load the page again.")
    plain, packed, mime_type = found
    headers = _ASSET_HEADERS
    if mime_type.startswith("text/html"):
        headers = {**headers, "Content-Security-Policy": _frame_policy(plain)}
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, 200, {**headers, "Content-Encoding": "gzip"}, mime_type)
    return Response(plain, 200, headers, mime_type)


def _frame_policy(document: bytes) -> str:
    """Returns the policy of the frame that draws diagrams.

    It has an origin of its own, only the page may embed it, and the policy that it was built with
    allows one script by its hash and loads nothing.
    """
    own = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', document)
    loads = own[1].decode() if own else "default-src 'none'"
    return f"{loads}; frame-ancestors 'self'; sandbox allow-scripts"


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


def _index() -> str | None:
    found = _file("index.html")
    return None if found is None else found.decode()


@cache
def _file(name: str) -> bytes | None:
    """Returns a file of the page; None in a copy without the page."""
    path = _BUILT / name
    return path.read_bytes() if path.is_file() else None


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
