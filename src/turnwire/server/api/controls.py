"""HTTP handlers for the agent of a conversation: controls, models, commands, MCP, rewind."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.controls import (
    AgentControl,
    ContextUsage,
    ListCommands,
    ListModels,
    McpStatus,
)
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import json_answer, read_json
from turnwire.server.new_conversation import check_option_for
from turnwire.server.service import Service
from turnwire.server.sockets.commands import put_back

__all__ = ["commands", "context", "control", "mcp", "models", "rewind"]


class RewindJson(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a rewind: the message before which files are restored."""

    message_sequence: Annotated[int, Meta(ge=1)]
    dry_run: bool = False


async def control(service: Service, request: Request, who: Who) -> Response:
    """POST /api/conversations/{id}/control"""
    await service.talk(request.path_params["id"], who)  # checks access before the body
    asked: AgentControl = await read_json(
        request,
        AgentControl,  # type: ignore[arg-type]  # a union is no type, but msgspec reads it
        service.settings,
    )
    return await _ask(service, request, who, asked)


async def mcp(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/mcp"""
    return await _ask(service, request, who, McpStatus())


async def context(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/context"""
    return await _ask(service, request, who, ContextUsage())


async def models(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/models"""
    return await _ask(service, request, who, ListModels())


async def commands(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/commands"""
    return await _ask(service, request, who, ListCommands())


async def rewind(service: Service, request: Request, who: Who) -> Response:
    """POST /api/conversations/{id}/rewind"""
    talk = await service.talk(request.path_params["id"], who)
    to = await read_json(request, RewindJson, service.settings)
    done = await talk.rewind_files(to.message_sequence, dry_run=to.dry_run, user=who.name)
    return json_answer(put_back(done))


async def _ask(service: Service, request: Request, who: Who, asked: AgentControl) -> Response:
    talk = await service.talk(request.path_params["id"], who)
    offered = await service.engine.capabilities_of(talk.row, is_owner=who.is_owner)
    check_option_for(offered, asked, who)
    return json_answer((await talk.control(asked, user=who.name)).ack.result)
