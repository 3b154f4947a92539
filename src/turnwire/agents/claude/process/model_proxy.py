"""A local HTTP proxy that holds the model's credential, so that Claude's tools never see it.

Claude Code passes its environment to every command that it runs. So the environment contains only a
stand-in for each credential: a random token that only this proxy accepts, only for model calls, and
only while the program runs. The proxy replaces the stand-in with the real credential and forwards
the request.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from turnwire.agents.claude.process.installation import CLOUDS, CREDENTIALS, is_on
from turnwire.agents.claude.sessions.history import config_dir

__all__ = ["ModelProxy", "why_visible"]

_log = logging.getLogger("turnwire.claude")
_URL, _HEADERS, _FIRST_PARTY = "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "api.anthropic.com"
_ASSUME = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"  # keeps the behaviour of a direct connection
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
_OWN_WAYS = ("ANTHROPIC_UNIX_SOCKET", "CLAUDE_CODE_CLIENT_CERT")  # they bypass the URL
_MODEL_CALLS = {("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("HEAD", "/")}
_NOT_PASSED_ON = {"host", "connection", "keep-alive", "x-api-key", "authorization", "te", "upgrade"}
_MOST_CONNECTIONS = 128
_MOST_HEAD = 1 << 18  # bytes
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 60.0
_PIECE = 1 << 16  # bytes


def why_visible(env: Mapping[str, str]) -> str | None:
    """Returns why the credential cannot be hidden from Claude's tools, or None if it can."""
    cloud = next((name for name in CLOUDS if is_on(env, name)), None)
    if cloud is not None:
        return f"{cloud} is on, and the program has to sign its requests itself"
    way = next((name for name in _OWN_WAYS if env.get(name)), None)
    if way is not None:
        return f"{way} is set"
    with suppress(OSError):
        if _URL.encode() in (config_dir(env) / "settings.json").read_bytes():
            return f"{config_dir(env) / 'settings.json'} sets {_URL}"
    if not any(env.get(name) for name in CREDENTIALS):
        return "it is a login of Claude Code, stored in a file that the program has to read"
    if (between := _proxy_for(_upstream(env), env)) is not None and between.scheme != "http":
        return f"the model is reached through {between.scheme}://{between.hostname}"
    return None


class ModelProxy:
    """Serves one program. `env` is the environment that the program is started with."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._upstream = _upstream(env)
        self._between = _proxy_for(self._upstream, env)
        self._real = env
        self._secrets: dict[str, str] = {}  # by stand-in
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._extra = _custom_headers(env.get(_HEADERS, ""))
        self.env: dict[str, str] = {}

    @classmethod
    async def start(cls, env: Mapping[str, str]) -> ModelProxy | None:
        """Starts a proxy for this environment. Returns None if the credential cannot be hidden."""
        if await asyncio.to_thread(why_visible, env) is not None:
            return None
        self = cls(env)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MOST_HEAD)
        port = self._server.sockets[0].getsockname()[1]
        self.env = {name: value for name, value in env.items() if name != _HEADERS}
        for name in CREDENTIALS:
            if env.get(name):
                stand_in = f"sk-ant-turnwire-{secrets.token_hex(24)}"
                self._secrets[stand_in] = env[name]
                self.env[name] = stand_in
        self.env[_URL] = f"http://127.0.0.1:{port}"
        if self._upstream.hostname == _FIRST_PARTY:
            self.env[_ASSUME] = "1"
        if any(env.get(name) for name in _PROXIES):
            for name in ("NO_PROXY", "no_proxy"):
                self.env[name] = ",".join(each for each in (env.get(name), "127.0.0.1") if each)
        return self

    def close(self) -> None:
        """Revokes the stand-ins, and cancels all open connections."""
        self._secrets.clear()
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()

    # --- a connection ---------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError):
            pass  # the client has disconnected, or did not send valid HTTP
        except asyncio.CancelledError:
            pass  # the program has ended
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) > _MOST_CONNECTIONS:
            return
        async with asyncio.timeout(_HEAD_SECONDS):
            head = _Head.read(await reader.readuntil(b"\r\n\r\n"))
        method, target, _ = head.first.split(" ", 2)
        name, secret = self._credential(head)
        if secret is None:
            await _refuse(writer, 401, "authentication_error", "This token is not valid any more.")
            return
        if (method, target.partition("?")[0]) not in _MODEL_CALLS:
            said = "This token is valid for calls of the model only."
            await _refuse(writer, 403, "permission_error", said)
            return
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                model_reader, model_writer = await self._connect()
        except (OSError, EOFError, ValueError, TimeoutError) as failure:
            said = f"The model at {self._upstream.hostname} cannot be reached: {failure}"
            await _refuse(writer, 502, "api_error", said)
            return
        try:
            kept = [each for each in head.fields if each[0].lower() not in _NOT_PASSED_ON]
            prefix = self._upstream.path.rstrip("/")
            sent = _Head(
                f"{method} {prefix}{target} HTTP/1.1",
                [("Host", self._netloc), (name, secret), *self._extra, *kept],
            )
            model_writer.write(sent.written())
            await _relay(reader, writer, model_reader, model_writer)
        finally:
            model_writer.close()

    def _credential(self, head: _Head) -> tuple[str, str | None]:
        """Returns the header with the real credential; the value is None if no stand-in fits."""
        for name, value in head.fields:
            if name.lower() == "x-api-key" and (real := self._secrets.get(value)):
                return name, real
            scheme, _, token = value.partition(" ")
            if name.lower() == "authorization" and (real := self._secrets.get(token)):
                return name, f"{scheme} {real}"
        return "", None

    # --- the model ------------------------------------------------------------------------------

    @property
    def _netloc(self) -> str:
        return self._upstream.netloc.rpartition("@")[2]

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to the model, through the network's proxy if one is configured."""
        host = self._upstream.hostname or ""
        is_tls = self._upstream.scheme == "https"
        port = self._upstream.port or (443 if is_tls else 80)
        context = await asyncio.to_thread(_trust, self._real) if is_tls else None
        if self._between is None:
            return await asyncio.open_connection(host, port, ssl=context)
        between = self._between
        reader, writer = await asyncio.open_connection(between.hostname, between.port or 80)
        try:
            fields = [("Host", f"{host}:{port}")]
            if between.username is not None:
                user = f"{unquote(between.username)}:{unquote(between.password or '')}"
                encoded = b64encode(user.encode()).decode()
                fields.append(("Proxy-Authorization", f"Basic {encoded}"))
            writer.write(_Head(f"CONNECT {host}:{port} HTTP/1.1", fields).written(close=False))
            answer = _Head.read(await reader.readuntil(b"\r\n\r\n"))
            if answer.status // 100 != 2:
                raise ConnectionError(f"the proxy {between.hostname} said: {answer.first}")
            if context is not None:
                await writer.start_tls(context, server_hostname=host)
        except BaseException:
            writer.close()
            raise
        return reader, writer


# --- HTTP -----------------------------------------------------------------------------------------


_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_END = re.compile(r"[\r\n\0]")


class _Head(NamedTuple):
    """The start line and the headers of a request or a response."""

    first: str
    fields: list[tuple[str, str]]

    @classmethod
    def read(cls, data: bytes) -> _Head:
        """Parses strictly, so that the next server reads the same lines. Raises ValueError."""
        first, *lines = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        fields = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not _FIELD_NAME.fullmatch(name):  # also rejects a folded header line
                raise ValueError("a header has no name")
            fields.append((name, value.strip(" \t")))
        if any(_LINE_END.search(text) for text in (first, *(value for _, value in fields))):
            raise ValueError("a header has a line break in it")
        return cls(first, fields)

    @property
    def status(self) -> int:
        """The status code of a response. Raises ValueError."""
        return int(self.first.partition(" ")[2].partition(" ")[0])

    def written(self, *, close: bool = True) -> bytes:
        """Encodes it; `close` adds the header that ends the connection after this message."""
        lines = [self.first, *(f"{name}: {value}" for name, value in self.fields)]
        return "\r\n".join([*lines, *(["Connection: close"] if close else []), "", ""]).encode(
            "latin-1"
        )


async def _relay(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    model_reader: asyncio.StreamReader,
    model_writer: asyncio.StreamWriter,
) -> None:
    """Forwards the rest of the request and the response, until either side closes."""
    async with asyncio.TaskGroup() as both:
        up = both.create_task(_copy(reader, model_writer))
        down = both.create_task(_answer_of(model_reader, writer))

        def sent(_: object) -> None:
            # The model may respond and close before it has read the whole request: forward that
            # response to its end.
            if reader.at_eof() or reader.exception() is not None:
                down.cancel()

        up.add_done_callback(sent)
        down.add_done_callback(lambda _: up.cancel())


async def _answer_of(model_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        while True:
            head = _Head.read(await model_reader.readuntil(b"\r\n\r\n"))
            if head.status >= 200:
                break
        fields = [f for f in head.fields if f[0].lower() not in ("connection", "keep-alive")]
        writer.write(_Head(head.first, fields).written())
        await _copy(model_reader, writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, RuntimeError):  # uvloop raises RuntimeError if the transport is closed
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()


async def _refuse(writer: asyncio.StreamWriter, status: int, kind: str, said: str) -> None:
    body = msgspec.json.encode({"type": "error", "error": {"type": kind, "message": said}})
    about = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    writer.write(_Head(f"HTTP/1.1 {status} Refused", about).written() + body)
    await writer.drain()


# --- the environment ------------------------------------------------------------------------------


def _upstream(env: Mapping[str, str]) -> SplitResult:
    return urlsplit(env.get(_URL) or f"https://{_FIRST_PARTY}")


def _proxy_for(upstream: SplitResult, env: Mapping[str, str]) -> SplitResult | None:
    """Returns the configured proxy for this URL, or None if the model is reached directly."""
    host = upstream.hostname or ""
    without = f"{env.get('NO_PROXY', '')},{env.get('no_proxy', '')}".replace(" ", ",").split(",")
    if any(_covers(each.partition(":")[0].lower(), host) for each in without if each):
        return None
    name = f"{upstream.scheme}_proxy"
    address = env.get(name.upper()) or env.get(name)
    return urlsplit(address if "://" in address else f"http://{address}") if address else None


def _covers(entry: str, host: str) -> bool:
    return entry == "*" or host == entry.lstrip(".") or host.endswith(f".{entry.lstrip('*.')}")


def _custom_headers(text: str) -> list[tuple[str, str]]:
    parts = (line.partition(":") for line in text.splitlines())
    return [(name.strip(), value.strip()) for name, colon, value in parts if colon and name.strip()]


def _trust(env: Mapping[str, str]) -> ssl.SSLContext:
    """Returns a TLS context with the system's, the configured and the bundled certificates."""
    context = ssl.create_default_context()
    files = [env.get("NODE_EXTRA_CA_CERTS"), env.get("SSL_CERT_FILE"), _bundled()]
    for file in files:
        if file and Path(file).is_file():
            try:
                context.load_verify_locations(file)
            except (OSError, ssl.SSLError) as bad:
                _log.warning("The certificates in %s cannot be read: %s", file, bad)
    return context


def _bundled() -> str | None:
    """Returns the path of certifi's certificates, for a machine without any, or None."""
    try:
        certifi: Any = __import__("certifi")
    except ImportError:
        return None
    return str(certifi.where())
