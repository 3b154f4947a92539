"""Serves a WebSocket: authenticates it, admits it, and picks the protocol and the conversation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2.address import Address
from turnwire.dialects.v2.close_codes import CLOSES_WITH
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.fanout.follow import Place
from turnwire.errors import TurnwireError
from turnwire.server.access.auth import SUBPROTOCOLS
from turnwire.server.access.keys import Who
from turnwire.server.aisdk.socket import ChatConnection, chat_error
from turnwire.server.api.problems import error_frame, refusal_of
from turnwire.server.api.responses import blob_urls, problem
from turnwire.server.rpc.classic.connection import ClassicConnection
from turnwire.server.rpc.connection import RpcConnection, rpc_error
from turnwire.server.sockets.backlog import Outgoing
from turnwire.server.sockets.connection import Connection
from turnwire.server.sockets.hub import Seat
from turnwire.server.sockets.outlet import Send, Wire
from turnwire.server.sockets.peer import Client

if TYPE_CHECKING:
    from turnwire.engine import Talk
    from turnwire.server.service import Service

__all__ = ["WIRE", "serve_socket"]

WIRE = "turnwire.wire"  # the extension of our own server; see `listen`
_RPC = ("/ws/rpc", "/ws")
_CLASSIC = "classic"  # a profile of RPC
_CHAT = "/ws/chat"
_ABORTS = {"": False, "detach": False, "stop": True}
_ERRORS = {"": False, "object": False, "text": True}  # of the profile classic
_FAILED_ACCESS = ("UNAUTHORIZED", "FORBIDDEN")
_GOODBYE = 2.0  # seconds that a refused client has to close the connection
_log = logging.getLogger("turnwire")


class _Upgrade(NamedTuple):
    """A WebSocket that was accepted, and whose client is not admitted yet."""

    service: Service
    scope: dict[str, Any]
    receive: Any
    send: Send
    wire: Wire | None
    unknown: ExitStack  # counts it as unauthenticated until it is admitted or refused
    who: Who | None  # the user, if it is authenticated already

    async def user(self) -> Who:
        """Authenticates the client. Raises Refused."""
        if self.who is not None:
            return self.who
        return await _authenticated(self.service, self.scope)

    async def turn_away(
        self, error: Exception, refusal: Callable[[Refused], Outgoing] | None
    ) -> None:
        """Tells the client why it is not admitted, and closes the connection.

        `refusal` makes the frame, if the protocol has one.
        """
        refused = _why(error, self.service, self.scope)
        frame = None if refusal is None else refusal(refused)
        await _turn_away(refused, frame, self.send, self.wire)


async def serve_socket(service: Service, scope: dict[str, Any], receive: Any, send: Send) -> None:
    """Serves one WebSocket, from its request to its end."""
    message = await receive()
    if message["type"] != "websocket.connect":
        return
    with ExitStack() as unknown:
        who = None
        try:
            unknown.enter_context(service.hub.stranger(_client_address(scope)))
        except Refused as refused:
            # An authenticated user is admitted even if others fill the limit of the same address,
            # which may be that of a proxy.
            who = await _known(service, scope)
            if who is None:
                await _reject_upgrade(refused, scope, receive, send)
                return
        offered = scope.get("subprotocols") or []
        chosen = next((each for each in offered if each in SUBPROTOCOLS), None)
        await send({"type": "websocket.accept", "subprotocol": chosen})
        wire = (scope.get("extensions") or {}).get(WIRE)
        upgrade = _Upgrade(service, scope, receive, send, wire, unknown, who)
        path = _path(scope)
        if path in _RPC:
            await _serve_rpc(upgrade)
        elif path == _CHAT:
            await _serve_chat(upgrade)
        else:
            await _serve_v2(upgrade)


async def _serve_v2(upgrade: _Upgrade) -> None:
    """Serves a client of protocol v2."""
    service = upgrade.service
    address = Address.of(_address(upgrade.scope))

    def refusal(refused: Refused) -> Sent:
        name = address.conversation_id if address is not None else ""
        return Sent(error_frame(refused, name, iso(service.engine.clock.now())))

    with ExitStack() as held:
        try:
            who, talk, place, seat = await _let_in(upgrade, address, held)
        except Exception as error:
            held.close()
            await upgrade.turn_away(error, refusal)
            return
        upgrade.unknown.close()
        connection = Connection(service, talk, place, who, upgrade.send, upgrade.wire)
        about = {"connection_id": connection.connection_id, "token_id": who.token_id}
        audit = service.connection_audit
        service.hub.add(connection, seat)
        is_written = audit.connected(who, talk.id, **about)
        try:
            await connection.run(upgrade.receive)
        finally:
            service.hub.remove(connection)
            if is_written:
                audit.disconnected(who, talk.id, **about, code=connection.code)


async def _serve_rpc(upgrade: _Upgrade) -> None:
    profile = _parameter(upgrade.scope, "profile")

    errors = _parameter(upgrade.scope, "errors")

    def make(who: Who) -> Client:
        to = (upgrade.service, who, upgrade.send, upgrade.wire)
        if not profile:
            return RpcConnection(*to)
        if profile != _CLASSIC:
            said = f"There is no profile {profile!r}; there is: classic."
            raise Refused("INVALID_PAYLOAD", said)
        if errors not in _ERRORS:
            said = f"`errors` is {errors!r}; there are: object, text."
            raise Refused("INVALID_PAYLOAD", said)
        return ClassicConnection(*to, text_errors=_ERRORS[errors])

    await _serve_any(upgrade, make, None if profile == _CLASSIC else rpc_error)


async def _serve_chat(upgrade: _Upgrade) -> None:
    abort = _parameter(upgrade.scope, "abort")

    def make(who: Who) -> Client:
        if abort not in _ABORTS:
            raise Refused("INVALID_PAYLOAD", f"`abort` is {abort!r}; there are: detach, stop.")
        to = (upgrade.service, who, upgrade.send, upgrade.wire)
        url = blob_urls(upgrade.scope)
        return ChatConnection(*to, abort_stops=_ABORTS[abort], blob_url=url)

    await _serve_any(upgrade, make, chat_error)


async def _serve_any(
    upgrade: _Upgrade,
    make: Callable[[Who], Client],
    refusal: Callable[[Refused], Outgoing] | None,
) -> None:
    """Serves a client whose address names no conversation; its frames do.

    `make` makes the connection, or raises Refused. `refusal` makes the frame of a refusal, if the
    protocol has one.
    """
    service = upgrade.service
    with ExitStack() as held:
        try:
            who = await upgrade.user()
            service.hub.count_connect(who)
            seat = held.enter_context(service.hub.place(who))
            service.shares.of(who).check()
            connection = make(who)
        except Exception as error:
            await upgrade.turn_away(error, refusal)
            return
        upgrade.unknown.close()
        service.hub.add(connection, seat)
        try:
            await connection.run(upgrade.receive)
        finally:
            service.hub.remove(connection)


def _parameter(scope: dict[str, Any], name: str) -> str:
    """Returns a parameter of the address; empty if there is none."""
    query: str = scope.get("query_string", b"").decode("latin-1")
    return parse_qs(query).get(name, [""])[-1]


def _path(scope: dict[str, Any]) -> str:
    """Returns the path of `_address`."""
    return _address(scope).partition("?")[0]


def _address(scope: dict[str, Any]) -> str:
    """Returns the path and query as they were sent, relative to the application's mount point."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.decode("latin-1")
    root = scope.get("root_path", "")
    if root and path.startswith(root):
        path = path[len(root) :]
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path


async def _let_in(
    upgrade: _Upgrade, address: Address | None, held: ExitStack
) -> tuple[Who, Talk, Place, Seat]:
    """Authenticates a v2 client, and reserves its place. Raises the error that the client is sent.

    `held` gets the resources that the connection keeps until its end.
    """
    service = upgrade.service
    service.gate.host(upgrade.scope)
    if address is None:
        raise Refused("CONVERSATION_NOT_FOUND", "There is no conversation at this address.")
    if not service.speaks_v2:
        raise Refused("CHAT_PROTOCOL_DISABLED")
    if address.protocol != "v2":
        raise Refused("PROTOCOL_VERSION_UNSUPPORTED", protocols=["v2"])
    who = await upgrade.user()
    if address.fault is not None:
        raise Refused("INVALID_PAYLOAD", f"The address is malformed: {address.fault}.")
    service.hub.count_connect(who)
    seat = held.enter_context(service.hub.place(who))
    service.shares.of(who).check()
    talk = await service.talk(address.conversation_id, who)
    return who, talk, Place(address.last_sequence, address.epoch, address.tail), seat


async def _known(service: Service, scope: dict[str, Any]) -> Who | None:
    try:
        return await _authenticated(service, scope)
    except Refused:
        return None


async def _authenticated(service: Service, scope: dict[str, Any]) -> Who:
    """Returns the user of a WebSocket. Raises Refused if there is none.

    Only clients of the profile `classic` may put a ticket into the address: they offer no
    subprotocol. A ticket is used up at once, so an address in the log of a proxy opens nothing.
    """
    host = service.gate.host(scope)
    ticket = _parameter(scope, "ticket") if _is_classic(scope) else ""
    return await service.auth.who(scope, host, ticket=ticket)


def _is_classic(scope: dict[str, Any]) -> bool:
    return _path(scope) in _RPC and _parameter(scope, "profile") == _CLASSIC


def _client_address(scope: dict[str, Any]) -> str:
    return str((scope.get("client") or ("",))[0])


def _why(error: Exception, service: Service, scope: dict[str, Any]) -> Refused:
    """Returns the refusal for an error. Counts failed authentications by address."""
    if isinstance(error, TurnwireError):
        refused = refusal_of(error)
        if refused.code in _FAILED_ACCESS:
            try:
                service.hub.count_refused(_client_address(scope))
            except Refused as too_often:
                return too_often
        return refused
    # A defect, perhaps in `authenticate` of the application.
    _log.error("a client could not be admitted", exc_info=error)
    return Refused("INTERNAL_ERROR")


async def _reject_upgrade(
    refused: Refused, scope: dict[str, Any], receive: Any, send: Send
) -> None:
    """Rejects before the upgrade: too many unauthenticated connections."""
    if "websocket.http.response" in (scope.get("extensions") or {}):
        await problem(refused)(scope, receive, send)  # type: ignore[arg-type]  # ASGI, by another name
    else:
        await send({"type": "websocket.close"})


async def _turn_away(
    refused: Refused, frame: Outgoing | None, send: Send, wire: Wire | None
) -> None:
    try:
        async with asyncio.timeout(5):
            if frame is not None:
                await send({"type": "websocket.send", "text": frame.at(1).decode()})
            code = CLOSES_WITH.get(str(refused.code), 4004)
            await send({"type": "websocket.close", "code": code})
    except Exception as gone:
        _log.debug("a client left before it was sent the error %s: %r", refused.code, gone)
    if wire is not None:
        try:
            await asyncio.wait_for(wire.until_gone(), _GOODBYE)
        except TimeoutError:
            wire.abort()
