"""The proxy that holds the model's credential."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from turnwire.agents.claude.process.model_proxy import ModelProxy, why_visible
from turnwire.testing.model_api import Fail, ModelApi

KEY = "sk-the-real-credential"
ASKED = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
loops = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])


@asynccontextmanager
async def proxied(env: dict[str, str]) -> AsyncIterator[tuple[ModelProxy, httpx.AsyncClient]]:
    """Runs a proxy, and a client with the environment of the program."""
    proxy = await ModelProxy.start(env)
    assert proxy is not None
    headers = {"x-api-key": proxy.env["ANTHROPIC_API_KEY"]}
    url = proxy.env["ANTHROPIC_BASE_URL"]
    try:
        async with httpx.AsyncClient(
            base_url=url, headers=headers, trust_env=False, timeout=120
        ) as client:
            yield proxy, client
    finally:
        proxy.close()


def certificate(folder: Path) -> Path:
    """A file with a new key and a certificate for `localhost`, which signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / "certificate.pem"
    file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return file


class Way:
    """A server that relays bytes: to one address, or to the target of CONNECT."""

    def __init__(self, to: int | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._to = to
        self._tls = tls
        self.heads: list[str] = []  # of CONNECT requests
        self.begun = b""  # the first bytes that were passed on

    async def __aenter__(self) -> Way:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = self._to
        try:
            if port is None:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                port = int(head.split(" ", 2)[1].partition(":")[2])
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(
                self._copy(reader, far_writer), self._copy(far_reader, writer, note=False)
            )
        except OSError:
            pass  # a client that does not trust us has gone
        finally:
            writer.close()

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, note: bool = True
    ) -> None:
        while piece := await reader.read(65536):
            self.begun += piece if note else b""
            writer.write(piece)
            await writer.drain()
        writer.close()


@loops
@pytest.mark.parametrize("is_far", [False, True], ids=["directly", "through a proxy"])
def test_a_model_that_speaks_tls(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], is_far: bool
) -> None:
    async def run() -> None:
        file = certificate(tmp_path)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(file)
        words = "word " * 200_000  # more than any buffer on the way holds
        async with (
            ModelApi(aside=words) as api,
            Way(httpx.URL(api.url).port, tls) as secure,
            Way() as between,
        ):
            env = {
                "ANTHROPIC_BASE_URL": f"https://localhost:{secure.port}",
                "ANTHROPIC_API_KEY": KEY,
                "NODE_EXTRA_CA_CERTS": str(file),
                "HOME": str(tmp_path),
            }
            if is_far:
                env["HTTPS_PROXY"] = f"http://me:pass%20word@127.0.0.1:{between.port}"
            async with proxied(env) as (proxy, client):
                answer = await client.post("/v1/messages?beta=true", json=ASKED)
                assert answer.json()["content"] == [{"type": "text", "text": words}]
                assert secure.begun.startswith(b"POST /v1/messages?beta=true HTTP/1.1\r\n")
                assert api.requests[0].headers["x-api-key"] == KEY
                assert api.requests[0].headers["host"] == f"localhost:{secure.port}"
                if is_far:
                    [head] = between.heads
                    assert head.startswith(f"CONNECT localhost:{secure.port} HTTP/1.1\r\n")
                    assert "Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n" in head
                    assert proxy.env["NO_PROXY"] == "127.0.0.1", (
                        "the program finds the proxy itself"
                    )
                else:
                    assert not between.heads
            async with proxied({**env, "NODE_EXTRA_CA_CERTS": ""}) as (_, client):
                refused = await client.post("/v1/messages", json=ASKED)
                assert refused.status_code == 502
                assert "certificate" in refused.json()["error"]["message"].lower()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())


@loops
def test_an_address_with_a_path_and_a_model_that_fails(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def run() -> None:
        async with ModelApi(aside=Fail(529, "busy")) as api, Way(httpx.URL(api.url).port) as way:
            base = {"ANTHROPIC_API_KEY": KEY, "HOME": str(tmp_path)}
            env = {**base, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{way.port}"}
            async with proxied(env) as (_, client):
                answer = await client.post("/v1/messages", json=ASKED)
                assert answer.status_code == 529
                assert answer.headers["connection"] == "close"
                assert (await client.head("/")).status_code == 200
            async with proxied({**env, "ANTHROPIC_BASE_URL": f"{api.url}/gateway/"}) as (_, client):
                answer = await client.post("/v1/messages", json=ASKED)
                assert "/gateway/v1/messages" in answer.text, "the API says what it does not know"
        async with proxied(env) as (_, client):
            answer = await client.post("/v1/messages", json=ASKED)
            assert answer.status_code == 502
            assert "cannot be reached" in answer.text

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())


async def test_a_client_that_leaves_ends_the_call(tmp_path: Path) -> None:
    """Or the model would go on, and cost, after the turn was stopped."""
    left = asyncio.Event()
    came = asyncio.Event()

    async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
        came.set()
        while await reader.read(65536):
            pass
        left.set()
        writer.close()

    listening = await asyncio.start_server(model, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}
    async with listening, proxied({**env, "HOME": str(tmp_path)}) as (_, client):
        async with client.stream("POST", "/v1/messages", json=ASKED) as answer:
            assert answer.status_code == 200
            await came.wait()
        async with asyncio.timeout(120):
            await left.wait()


async def test_the_own_address_of_the_model_is_treated_as_such(tmp_path: Path) -> None:
    async with proxied({"ANTHROPIC_API_KEY": KEY, "HOME": str(tmp_path)}) as (proxy, _):
        assert proxy.env["_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"] == "1"
        assert KEY not in str(proxy.env)


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "CLAUDE_CODE_USE_BEDROCK is on"),
        ({"ANTHROPIC_UNIX_SOCKET": "/s"}, "ANTHROPIC_UNIX_SOCKET is set"),
        ({"ANTHROPIC_API_KEY": ""}, "a login of Claude Code"),
        ({"HTTPS_PROXY": "socks5://there:1"}, "reached through socks5://there"),
        ({"HTTPS_PROXY": "socks5://there:1", "NO_PROXY": ".anthropic.com"}, None),
        ({}, None),
    ],
)
async def test_a_credential_that_cannot_be_hidden_is_reported(
    tmp_path: Path, env: dict[str, str], why: str | None
) -> None:
    given = {"ANTHROPIC_API_KEY": KEY, "HOME": str(tmp_path), **env}
    said = why_visible(given)
    assert (said is None) if why is None else (why in (said or ""))
    started = await ModelProxy.start(given)
    assert (started is None) == (why is not None)
    if started is not None:
        started.close()


async def test_settings_that_name_another_address_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    file = tmp_path / ".claude" / "settings.json"
    file.write_text('{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example"}}')
    given = {"ANTHROPIC_API_KEY": KEY, "HOME": str(tmp_path)}
    assert f"{file} sets ANTHROPIC_BASE_URL" in (why_visible(given) or "")
    assert await ModelProxy.start(given) is None


async def test_an_invalid_request_is_not_passed_on(tmp_path: Path) -> None:
    env: dict[str, Any] = {"ANTHROPIC_API_KEY": KEY, "HOME": str(tmp_path)}
    async with proxied(env) as (proxy, _):
        port = httpx.URL(proxy.env["ANTHROPIC_BASE_URL"]).port
        token = proxy.env["ANTHROPIC_API_KEY"].encode()
        begun = b"POST /v1/messages HTTP/1.1\r\nx-api-key: " + token
        hidden = b"b\nContent-Length: 0\n\nGET /v1/files HTTP/1.1\nY: z"
        for said in (
            *(b"\r\n\r\n", b"nonsense\r\n\r\n", b"x" * 300_000, b""),
            # A lenient model would see a second request, with the real credential in it.
            *(begun + b"\r\nX-A: " + hidden + b"\r\n\r\n", begun + b"\r\n folded\r\n\r\n"),
            *(begun + b"\r\nno name\r\n\r\n", begun + b"\r\nX-A: a\0b\r\n\r\n"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            writer.write_eof()
            async with asyncio.timeout(120):
                with suppress(ConnectionResetError):  # it has closed before it had read all
                    assert await reader.read() == b""
            writer.close()
