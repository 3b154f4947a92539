"""All names of uvicorn that the server uses. Other modules import them from here.

Most of the names are not documented, so any version of uvicorn may change them. pyproject.toml has
an upper bound for the version. Before the bound is raised, `tests/test_compat.py` finds names that
are gone. Without that test, an overridden method that is gone would just never be called.
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

# The names that are called, read or overridden, by class.
USED: dict[type, str] = {
    FlowControl: "read_paused write_paused",
    H11Protocol: "_unset_keepalive_if_required app config conn connection_lost connection_made cycle"
    " data_received flow handle_websocket_upgrade loop on_response_complete pause_writing"
    " resume_writing timeout_keep_alive_handler transport ws_protocol_class",
    RequestResponseCycle: "disconnected flow response_complete response_started transport",
    Server: "capture_signals config force_exit handle_exit lifespan run server_state should_exit"
    " shutdown startup",
    WebSocketsSansIOProtocol: "close_sent close_timeout close_timer config connection_lost"
    " data_received disconnected keepalive_timeout loop ping_interval ping_timeout pong_timer"
    " read_paused run_asgi scope send send_keepalive_ping transport writable",
}
