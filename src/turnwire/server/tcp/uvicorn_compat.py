"""Everything that is used of uvicorn. Other modules import it from here.

Most of it is not documented, so uvicorn may change it in any version: pyproject.toml has an upper bound.
Before that is raised, `tests/test_compat.py` says which names are gone. A method that is overridden and
gone would otherwise only never be called.
"""

from __future__ import annotations

from uvicorn import Config, Server
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

__all__ = [
    "USED",
    "Config",
    "H11Protocol",
    "RequestResponseCycle",
    "Server",
    "ServerState",
    "WebSocketsSansIOProtocol",
]

# The names that are called, read or overridden, by their class.
USED: dict[type, str] = {
    FlowControl: "read_paused",
    H11Protocol: "_unset_keepalive_if_required config conn connection_lost connection_made cycle"
    " data_received flow handle_websocket_upgrade loop on_response_complete pause_writing"
    " resume_writing timeout_keep_alive_handler transport ws_protocol_class",
    RequestResponseCycle: "response_complete",
    Server: "capture_signals config force_exit handle_exit lifespan run server_state should_exit"
    " shutdown startup",
    WebSocketsSansIOProtocol: "close_sent close_timeout close_timer config connection_lost"
    " data_received disconnected keepalive_timeout loop ping_interval ping_timeout pong_timer"
    " read_paused run_asgi scope send send_keepalive_ping transport writable",
}
