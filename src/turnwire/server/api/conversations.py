"""HTTP handlers for conversations: create, list, change, delete, fork, read and export."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated, TypeAlias, get_args
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from turnwire.core.conversation.state import status_of
from turnwire.core.error_codes import Refused
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.engine.export.jsonl import as_frame, lines_of
from turnwire.engine.fanout.log_pages import LogItem, in_log_order
from turnwire.engine.ownership.owners import has_died
from turnwire.engine.ownership.stored_state import as_it_is
from turnwire.ports import Activity, ConversationRow, Store, StoredEntry
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_PAGE
from turnwire.server.access.shares import Share
from turnwire.server.api.responses import (
    SAFE_HEADERS,
    json_answer,
    json_list,
    number,
    read_json,
    word,
)
from turnwire.server.new_conversation import (
    NewConversation,
    begin,
    check_mode_for,
    check_title,
    fork_modes,
)
from turnwire.server.service import Service

__all__ = [
    "change",
    "conversation_json",
    "create",
    "delete",
    "export",
    "fork",
    "list_all",
    "messages",
    "show",
    "with_ends",
]

_MOST = 500  # maximum items in a response
_MOST_LABELS = 10  # of a conversation
_LABEL_SIZE = 40  # characters of a label
_PIECE = 16 * 1024  # bytes of an export that are sent together
_MOST_IN_NAME = 60  # characters of a title in the name of a file


class ForkedFrom(Struct, frozen=True):
    """The conversation that a fork was made from."""

    id: str
    at_sequence: int  # the last entry that both conversations share


class ConversationJson(Struct, frozen=True, omit_defaults=True):
    """A conversation in a response."""

    id: str
    agent: str
    created_at: str
    updated_at: str
    head: int
    status: Status
    title: str | None = None
    user: str | None = None  # absent if it belongs to the owner of the data
    cwd: str | None = None
    archived: bool = False
    pinned: bool = False
    labels: list[str] = []
    forked_from: ForkedFrom | None = None  # absent if it is no fork


class ForkJson(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a fork: its last entry, and its title."""

    at_sequence: Annotated[int, Meta(ge=0, lt=1 << 53)] | None = None  # None: the latest fork point
    title: str | None = None  # None: that of the original


class ChangesJson(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a change. Absent fields stay as they are."""

    title: str | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    permission_mode: str | UnsetType = UNSET
    max_thinking_tokens: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET


def conversation_json(service: Service, row: ConversationRow) -> ConversationJson:
    """Returns a conversation for a response.

    A turn whose process was killed is not shown as running.
    """
    state = as_it_is(row, service.engine.clock.now(), has_died)
    return ConversationJson(
        row.conversation_id,
        row.agent,
        row.created_at,
        row.updated_at,
        row.head,
        status_of(state),
        row.title,
        row.user,
        row.cwd,
        row.archived,
        row.pinned,
        row.labels,
        _forked_from(row),
    )


def _forked_from(row: ConversationRow) -> ForkedFrom | None:
    if row.parent_id is None or row.forked_at is None:
        return None
    return ForkedFrom(row.parent_id, row.forked_at)


async def create(service: Service, request: Request, who: Who) -> Response:
    """POST /api/conversations"""
    new = await read_json(request, NewConversation, service.settings)
    talk = await begin(service, who, new)
    return json_answer(conversation_json(service, talk.row), 201)


async def fork(service: Service, request: Request, who: Who) -> Response:
    """POST /api/conversations/{id}/fork"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    wanted = await read_json(request, ForkJson, service.settings)
    title = None if wanted.title is None else check_title(wanted.title)
    agent = service.engine.agents.get(talk.row.agent)
    modes = fork_modes(agent, who)
    await service.check_room(who, conversations=1)
    async with service.shares.of(who).costly():
        made = await talk.fork(
            wanted.at_sequence, title=title, user=who.name, permission_modes=modes
        )
    service.has_changed(made.id, made.row.user)
    return json_answer(conversation_json(service, made.row), 201)


async def list_all(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations"""
    limit = number(request, "limit", 50, least=1, most=_MOST)
    offset = number(request, "offset", 0)
    rows = await service.store.conversations(
        user=who.user,
        archived=word(request, "archived") in ("true", "1"),
        pinned=word(request, "pinned") in ("true", "1"),
        label=word(request, "label"),
        agent=word(request, "agent"),
        activity=_activity(request),
        limit=limit or 50,
        offset=offset or 0,
    )
    return await json_list("conversations", rows, partial(conversation_json, service))


def _activity(request: Request) -> Activity | None:
    """Returns the parameter `activity`, or None if it is absent. Raises Refused."""
    given = word(request, "activity")
    known: tuple[Activity, ...] = get_args(Activity)
    for each in known:
        if each == given:
            return each
    if given is None:
        return None
    raise Refused("INVALID_PAYLOAD", f"`activity` is {given!r}; there is: {', '.join(known)}.")


async def show(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    return json_answer(conversation_json(service, talk.row))


async def change(service: Service, request: Request, who: Who) -> Response:
    """PATCH /api/conversations/{id}"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    wanted = await read_json(request, ChangesJson, service.settings)
    title = UNSET if wanted.title is UNSET else check_title(wanted.title)
    labels = None if wanted.labels is UNSET else _check_labels(wanted.labels)
    chosen = {
        "model": wanted.model,
        "permission_mode": wanted.permission_mode,
        "max_thinking_tokens": wanted.max_thinking_tokens,
    }
    has_chosen = any(value is not UNSET for value in chosen.values())
    if wanted.agent is not UNSET:
        if has_chosen:
            said = "Choose the agent alone: the other settings are those of the agent before."
            raise Refused("INVALID_PAYLOAD", said)
        await talk.set_agent(wanted.agent, user=who.name)
    if wanted.permission_mode is not UNSET:
        check_mode_for(service.engine.agents, talk.row.agent, wanted.permission_mode, who)
    if has_chosen:
        await talk.choose(**chosen, user=who.name)  # type: ignore[arg-type]  # each is its own
    if title is not UNSET:
        await talk.rename(title, user=who.name)
    if labels is not None or wanted.pinned is not UNSET:
        pinned = None if wanted.pinned is UNSET else wanted.pinned
        await service.store.change(talk.id, pinned=pinned, labels=labels)
        service.has_changed(talk.id, talk.row.user)
    if wanted.archived is not UNSET and wanted.archived is not talk.row.archived:
        await service.store.change(talk.id, archived=wanted.archived)
        service.has_changed(talk.id, talk.row.user)  # before the agent ends, which may take long
        if wanted.archived:
            service.cut(talk.id)
            await service.engine.end(talk.id, reason="archived")
        await service.engine.look_after(talk.id)
        service.write_down("archived" if wanted.archived else "reopened", who, talk.id)
    changed = await service.talk(talk.id, who, closed=True)
    return json_answer(conversation_json(service, changed.row))


def _check_labels(labels: list[str]) -> list[str]:
    """Returns the labels, each once, without surrounding spaces. Raises Refused."""
    cleaned = list(dict.fromkeys(label.strip() for label in labels))
    if len(cleaned) > _MOST_LABELS:
        raise Refused("INVALID_PAYLOAD", f"`labels` has at most {_MOST_LABELS} labels.")
    if any(not 0 < len(each) <= _LABEL_SIZE or not each.isprintable() for each in cleaned):
        said = f"Each of `labels` has 1 to {_LABEL_SIZE} visible characters."
        raise Refused("INVALID_PAYLOAD", said)
    return cleaned


async def delete(service: Service, request: Request, who: Who) -> Response:
    """DELETE /api/conversations/{id}"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    service.cut(talk.id)
    await service.end_shares(talk.row, who)
    left = await service.engine.remove(talk.id, by=who.name)
    service.has_changed(talk.id, talk.row.user)
    if left is not None:
        return json_answer({"left": left})
    return Response(status_code=204, headers=SAFE_HEADERS)


async def messages(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/messages: each item is the payload of a message.replay."""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    after = number(request, "after", 0) or 0
    before = number(request, "before", None)
    limit = number(request, "limit", 50, least=1, most=_MOST) or 50
    # Without `after` the newest entries: a client that opened with a tail puts them before its own.
    newest = word(request, "after") is None
    found = await service.store.entries(
        talk.id, after=after, before=before, limit=limit, newest=newest, size=MOST_PAGE
    )
    head, epoch = talk.row.head, service.store.epoch
    last = head if before is None else min(head, before - 1)
    return await json_list(
        "messages",
        await with_ends(service, talk.id, found),
        lambda each: f.Replay(_number_of(each), as_frame(each, talk.id)),  # type: ignore[arg-type]
        head=head,
        epoch=epoch,
        # The size limit may end a page before `limit`, so its length does not show this.
        has_more=bool(found) and (found[0].sequence > 1 if newest else found[-1].sequence < last),
    )


async def with_ends(
    service: Service, conversation_id: str, found: list[StoredEntry]
) -> list[LogItem]:
    """Returns the entries, with the ends of the turns that ended among them, as in a replay."""
    if not found:
        return []
    first, last = found[0].sequence, found[-1].sequence
    ends = await service.store.turns(conversation_id, since=first, before=last + 1)
    return list(in_log_order(found, ends))


def _number_of(item: LogItem) -> int | None:
    return item.sequence if isinstance(item, StoredEntry) else None


async def export(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/export: JSON lines for `turnwire import`, or Markdown."""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    form = word(request, "format") or "jsonl"
    if form not in _EXPORTS:
        known = ", ".join(_EXPORTS)
        raise Refused("INVALID_PAYLOAD", f"`format` is {form!r}; there is: {known}.")
    write, media_type, ending = _EXPORTS[form]
    saved_as = _attachment(talk.row.title, ending)
    headers = {**SAFE_HEADERS, "Content-Disposition": saved_as}
    share, held = service.shares.of(who), AsyncExitStack()
    await held.enter_async_context(share.costly())
    pieces = _counted(write(service.store, talk.row), share)
    return _Export(pieces, held, headers, media_type)


class _Export(StreamingResponse):
    """The response with an export. It counts as a costly request until it is sent."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        held: AsyncExitStack,
        headers: dict[str, str],
        media_type: str,
    ) -> None:
        super().__init__(pieces, 200, headers, media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            await super().__call__(scope, receive, send)


async def _counted(pieces: AsyncIterator[bytes], share: Share) -> AsyncIterator[bytes]:
    """Yields the same pieces, and counts the processor time that making them takes."""

    async def following() -> bytes | None:
        return await anext(pieces, None)

    while (piece := await share.timed(following())) is not None:
        yield piece


def _attachment(title: str | None, ending: str) -> str:
    """Returns the header with a file name made of the title, for all browsers (RFC 6266)."""
    # Removes invisible characters, and those that file systems do not allow.
    seen = "".join(each if each.isprintable() else " " for each in title or "")
    name = (
        " ".join(re.sub(r'[/\\:*?"<>|%]', " ", seen).split())
        .strip(". ")[:_MOST_IN_NAME]
        .strip(". ")
    )
    name = name or "conversation"
    if name.isascii():
        return f'attachment; filename="{name}.{ending}"'
    return (
        f"attachment; filename=\"conversation.{ending}\"; filename*=UTF-8''{quote(name)}.{ending}"
    )


async def _lines(store: Store, row: ConversationRow) -> AsyncIterator[bytes]:
    async for piece in _together(
        msgspec.json.encode(line) + b"\n" async for line in lines_of(store, row)
    ):
        yield piece


async def _markdown(store: Store, row: ConversationRow) -> AsyncIterator[bytes]:
    from turnwire.engine.export.markdown import markdown_of  # loaded only if it is used

    texts = markdown_of(store, row)
    async for piece in _together(text.encode(errors="replace") async for text in texts):
        yield piece


async def _together(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Joins lines into pieces: not too small to be sent, not too large for a slow client."""
    waiting: list[bytes] = []
    size = 0
    async for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


_Write: TypeAlias = Callable[[Store, ConversationRow], AsyncIterator[bytes]]

# By `format`: the writer, the media type, and the suffix of the file name.
_EXPORTS: dict[str, tuple[_Write, str, str]] = {
    "jsonl": (_lines, "application/x-ndjson", "jsonl"),
    "markdown": (_markdown, "text/markdown; charset=utf-8", "md"),
}
