"""HTTP handlers for the permission rules that people gave with "Always"."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from turnwire.ports import GivenRule
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import SAFE_HEADERS, json_answer, json_list, number
from turnwire.server.service import Service

__all__ = ["forget", "list_all", "of_conversation"]

_MOST = 500  # maximum items in a response


async def of_conversation(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/rules: the newest first."""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    row = talk.row
    rules = [_told(GivenRule(row.conversation_id, rule, row.title)) for rule in row.state.rules]
    return json_answer({"rules": rules[::-1]})


async def forget(service: Service, request: Request, who: Who) -> Response:
    """DELETE /api/conversations/{id}/rules/{rule_id}: takes a rule back, also if it is gone."""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    await talk.forget_rule(request.path_params["rule_id"], user=who.name)
    return Response(status_code=204, headers=SAFE_HEADERS)


async def list_all(service: Service, request: Request, who: Who) -> Response:
    """GET /api/rules: those of all conversations of this user, the newest first."""
    limit = number(request, "limit", 100, least=1, most=_MOST)
    offset = number(request, "offset", 0)
    found = await service.store.rules(user=who.user, limit=limit or 100, offset=offset or 0)
    return await json_list("rules", found, _told)


def _told(given: GivenRule) -> dict[str, Any]:
    rule = given.rule
    fields = {name: getattr(rule, name) for name in rule.__struct_fields__}
    named = {"conversation_id": given.conversation_id, "title": given.title, **fields}
    told = {name: value for name, value in named.items() if value is not None}
    return {**told, "same_input": told.pop("input_digest", None) is not None}
