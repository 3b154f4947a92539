"""HTTP handler for one log entry in its layers: the agent's line, events, entry and frame."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, structs
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import to_json
from turnwire.dialects.v2.entry_frames import frame_of
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import json_answer
from turnwire.server.service import Service

__all__ = ["layers"]


async def layers(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/messages/{sequence}"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    given = request.path_params["sequence"]
    sequence = int(given) if given.isascii() and given.isdecimal() and len(given) < 18 else 0
    found = await service.store.entries(talk.id, after=sequence - 1, before=sequence + 1, limit=1)
    if not found:
        raise Refused("INVALID_PAYLOAD", f"This conversation has no entry {given!r}.")
    (stored,) = found
    told: dict[str, Any] = {
        "message_sequence": sequence,
        "entry": to_json(stored.entry),
        "frame": frame_of(stored.entry, sequence, talk.id, stored.trace_id),
    }
    raw = await service.store.raw_event(talk.id, sequence)
    if raw is not None:
        told["raw"] = msgspec.Raw(raw.encode())
        told["events"] = _events(raw.encode())
    return json_answer(told)


def _events(raw: bytes) -> list[Any]:
    """Returns the events of a raw line of Claude; none for lines of other agents."""
    from turnwire.dialects import claude  # loaded only if it is used

    lines = [line for line in claude.read([raw]) if isinstance(line, claude.Line)]
    adapter = claude.ClaudeStreamAdapter()
    return [_without_raw(event) for line in lines for event in adapter.feed(line)]


def _without_raw(event: NormalizedStreamEvent) -> NormalizedStreamEvent:
    """Returns the event without `raw`, which the response has already."""
    return structs.replace(event, raw=UNSET) if hasattr(event, "raw") else event
