"""Creates, lists, checks and ends share links: each shows one conversation, read-only.

A share link is a token of the kind `share`. The name of that token is JSON, with the fields of
`_Shown`: which conversation the link shows, and up to which entry. The secret of the link stands
in the fragment of its address, which browsers send to no server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.ports import Clock, ConversationRow, Store, Token
from turnwire.server.access.keys import SHARE, Keys, Who, is_good

__all__ = ["DAYS", "MOST_DAYS", "ShareLink", "ShareLinks"]

DAYS = 30
MOST_DAYS = 365
_MOST = 20  # maximum valid links of a conversation
_DAY_MS = 24 * 3600_000
_ENDED = "This link has ended, or never existed. Ask for a new one."


class _Shown(Struct, frozen=True, omit_defaults=True):
    """What a share link shows; stored as the name of its token."""

    conversation: str  # its id
    created_at: str  # of the conversation: a later conversation may have the same id
    through: int  # the last entry that is shown
    # Requests that were open when the link was made, and the tool calls that waited for them.
    hidden: list[str] = []


class ShareLink(Struct, frozen=True):
    """A share link, without its secret."""

    share_id: str
    conversation_id: str
    conversation_created_at: str
    through: int
    hidden: frozenset[str]
    created_at: str
    expires_at: int  # milliseconds since 1970
    reader: Who  # the user of the limits: all links of one user share them

    def is_to(self, row: ConversationRow) -> bool:
        """Returns whether the link shows this conversation."""
        return (self.conversation_id, self.conversation_created_at) == (
            row.conversation_id,
            row.created_at,
        )


class ShareLinks:
    """The share links of one store."""

    def __init__(self, store: Store, keys: Keys, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._making = asyncio.Lock()  # so that requests at the same time do not exceed the limit

    async def make(self, conversation_id: str, who: Who, days: int = DAYS) -> tuple[str, ShareLink]:
        """Creates a link to what was said until now. Returns its secret and the link.

        The caller has checked that this user may see the conversation. Raises Refused if the
        conversation has too many links.
        """
        async with self._making:
            row = await self._store.conversation(conversation_id)  # entries and requests, together
            if row is None:
                raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
            if len(await self.of(row)) >= _MOST:
                said = (
                    f"This conversation has {_MOST} links, and may have no more. End one of them."
                )
                raise Refused("FORBIDDEN", said)
            waiting = row.state.requests
            hidden = {name for each in waiting for name in (each.request_id, each.tool_use_id)}
            shown = _Shown(row.conversation_id, row.created_at, row.head, sorted(hidden))
            name = msgspec.json.encode(shown).decode()
            secret, token = await self._keys.make(name, who.user, SHARE, good_for=days * _DAY_MS)
        link = _link_of(token)
        assert link is not None
        data = {
            "share_id": link.share_id,
            "through": link.through,
            "expires_at": iso(link.expires_at),
        }
        await self._note("shared", link, who.name, data)
        return secret, link

    async def of(self, row: ConversationRow) -> list[ShareLink]:
        """Returns the valid links to a conversation, the oldest first."""
        return [link async for link in self._all() if link.is_to(row)]

    async def end(self, row: ConversationRow, share_id: str, by: str) -> bool:
        """Ends a link to this conversation. Returns False if there is no valid one with this id."""
        for link in await self.of(row):
            if link.share_id == share_id:
                return await self._end(link, by)
        return False

    async def end_all(self, row: ConversationRow, by: str) -> list[str]:
        """Ends every link to a conversation. Returns their ids."""
        links = await self.of(row)
        return [link.share_id for link in links if await self._end(link, by)]

    async def opened(self, secret: str) -> tuple[ShareLink, ConversationRow]:
        """Returns the link with this secret, and its conversation.

        Raises Refused if the link has ended. The refusal does not say why.
        """
        token = await self._keys.valid(secret, SHARE)
        link = None if token is None else _link_of(token)
        if link is not None:
            row = await self._store.conversation(link.conversation_id)
            if row is not None and link.is_to(row):
                return link, row
        raise Refused("UNAUTHORIZED", _ENDED)

    async def _all(self) -> AsyncIterator[ShareLink]:
        now = self._clock.now()
        for token in await self._store.tokens():
            if token.kind == SHARE and is_good(token, now):
                link = _link_of(token)
                if link is not None:
                    yield link

    async def _end(self, link: ShareLink, by: str) -> bool:
        done = await self._keys.void(link.share_id)
        if done:
            await self._note("share_ended", link, by, {"share_id": link.share_id})
        return done

    async def _note(self, action: str, link: ShareLink, by: str, data: dict[str, object]) -> None:
        at = iso(self._clock.now())
        name = link.conversation_id
        await self._store.note(action, at=at, by=by, conversation_id=name, data=data)


def _link_of(token: Token) -> ShareLink | None:
    """Returns the link of a token. Returns None if another version wrote it in another form."""
    try:
        shown = msgspec.json.decode(token.name, type=_Shown)
    except msgspec.DecodeError:
        return None
    if token.expires_at is None:
        return None
    return ShareLink(
        token.token_id,
        shown.conversation,
        shown.created_at,
        shown.through,
        frozenset(shown.hidden),
        token.created_at,
        token.expires_at,
        Who(f"share links of {Who(token.user, '').name}", token.token_id),
    )
