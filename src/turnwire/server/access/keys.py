"""Creates, stores and checks tokens, page cookies, tickets and links."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from turnwire.core.conversation.people import OWNER
from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.errors import TurnwireError
from turnwire.ports import Clock, OverQuota, Store, Ticket, Token

__all__ = [
    "OWNER",
    "SHARE",
    "VOID",
    "Keys",
    "Who",
    "digest_of",
    "new_token",
    "owner_file",
    "page_token",
    "read_owner_token",
]

SHARE = "share"  # the kind of token that opens one conversation for reading, without a user
VOID = "The token was revoked or has expired."

_JOINT = "."  # between the halves of a page's token; neither half contains it
_TICKET_MS = 60_000
_LINK_MS = 15 * 60_000
_MOST_TICKETS = 100  # maximum unused tickets of each kind for a token
_PAGE_MS = 30 * 24 * 3600_000
_TRUSTED_MS = 1000  # how long a token from the store is cached
_MOST_TRUSTED = 10_000
_KEPT_MS = 30 * 24 * 3600_000  # how long a void token is still listed


class Who(Struct, frozen=True):
    """An authenticated user."""

    user: str | None  # None for the owner of the data, who may see everything
    token_id: str  # of the token that authenticated the user

    @property
    def name(self) -> str:
        """Returns the name of the user in the log."""
        return OWNER if self.user is None else self.user

    @property
    def is_owner(self) -> bool:
        """Returns whether the user is the owner of the data."""
        return self.user is None

    @property
    def is_of_application(self) -> bool:
        """Whether the application has authenticated the user. The store has no token of it."""
        return ":" in self.token_id

    @property
    def client_id(self) -> str:
        """Returns an id that is the same for all connections of a token, and reveals nothing."""
        return digest_of(f"{self.name}\n{self.token_id}").hex()[:16]

    def may_see(self, user: str | None) -> bool:
        """Returns whether this user may see the data of the given user."""
        return self.user is None or self.user == user


def new_token() -> str:
    """Returns a token of 256 random bits, in characters that are safe in URLs and headers."""
    return f"tw_{_new_secret()}"


def _new_secret() -> str:
    return secrets.token_urlsafe(32)


def page_token(cookie: str, page_key: str) -> str:
    """Joins the two halves of a page's token, which the browser keeps in two places.

    A browser sends a cookie to every port of the host, so also to other servers of the host. The
    page key is in the storage of the page's own origin, which other ports cannot read. One half
    alone does not authenticate.
    """
    return f"{cookie}{_JOINT}{page_key}"


def digest_of(secret: str) -> bytes:
    """Returns the digest of a secret for the store. Secrets are random, so one round is enough."""
    return hashlib.sha256(secret.encode()).digest()


def owner_file(data_path: Path) -> Path:
    """Returns the path of the file with the owner's token."""
    return data_path / "owner-token"


def read_owner_token(data_path: Path) -> str:
    """Returns the owner's token, for programs of the owner.

    Raises OSError if it cannot be read, and TurnwireError if its file is a link. A data directory
    from another source could contain a link to any secret of this user, and the secret would be
    sent to the server that the directory names.
    """
    file = owner_file(data_path)
    secret = _read_secret(file)
    if secret is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    return secret


class Keys:
    """Creates and checks the tokens, tickets and links of one store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._trusted: dict[bytes, tuple[Token, int]] = {}
        self._revoked: set[str] = set()  # in this process; known without the store
        self._signed_out: dict[str, int] = {}  # user to time

    # --- checking -------------------------------------------------------------------------------

    async def holder(self, token: str, kind: str) -> Who | None:
        """Returns the user of a valid token of this kind, or None."""
        known = await self.valid(token, kind)
        return None if known is None else Who(known.user, known.token_id)

    async def valid(self, token: str, kind: str) -> Token | None:
        """Returns the row of a valid token of this kind, or None."""
        digest, now = digest_of(token), self._clock.now()
        known, until = self._trusted.get(digest, (None, 0))
        if known is None or not now < until <= now + _TRUSTED_MS:
            known = await self._store.token(digest)
            if known is not None:
                if len(self._trusted) >= _MOST_TRUSTED:
                    self._trusted.clear()
                self._trusted[digest] = (known, now + _TRUSTED_MS)
        if known is None or known.kind != kind or not is_good(known, now):
            return None
        if known.token_id in self._revoked:
            return None
        return known

    async def token_of(self, who: Who) -> Token:
        """Returns the row of the token that authenticated a user. Raises Refused if it is gone."""
        for token in await self._store.tokens():
            if token.token_id == who.token_id:
                return token
        raise Refused("UNAUTHORIZED", VOID)

    async def good_tokens(self) -> set[str]:
        """Returns the ids of all valid tokens."""
        now = self._clock.now()
        return {token.token_id for token in await self._store.tokens() if is_good(token, now)}

    async def forget(self) -> None:
        """Deletes tokens that have been void for long. Their rows in the audit trail stay."""
        await self._store.forget_tokens(before=self._clock.now() - _KEPT_MS)

    async def take_ticket(self, ticket: str) -> Who | None:
        """Uses up a ticket. Returns its user, or None if it was used, has expired or is void."""
        taken = await self._take("socket", ticket, _TICKET_MS)
        return None if taken is None else Who(taken.user, taken.token_id)

    def sign_out(self, user: str) -> None:
        """Voids every ticket and link that this user has until now, at once and in this process.

        `void_tickets` deletes them from the store, also for other processes and the next server.
        """
        now = self._clock.now()
        old = now - max(_TICKET_MS, _LINK_MS)
        self._signed_out = {name: at for name, at in self._signed_out.items() if at > old}
        self._signed_out[user] = now

    async def void_tickets(self, user: str) -> None:
        """Deletes the tickets and links of a user from the store."""
        await self._store.void_tickets(user)

    async def _take(self, kind: str, secret: str, good_for: int) -> Ticket | None:
        taken = await self._store.take_ticket(digest_of(secret), kind, now=self._clock.now())
        if taken is None or taken.user is None:
            return taken
        given_at = taken.expires_at - good_for
        return None if given_at <= self._signed_out.get(taken.user, -1) else taken

    # --- creating and revoking ------------------------------------------------------------------

    async def make(
        self, name: str, user: str | None, kind: str = "token", *, good_for: int | None = None
    ) -> tuple[str, Token]:
        """Creates a token. Returns its secret, which is not stored, and its row.

        `good_for` is in milliseconds. A page has its own lifetime.
        """
        now = self._clock.now()
        is_page = kind == "page"
        secret = page_token(new_token(), _new_secret()) if is_page else new_token()
        lifetime = _PAGE_MS if is_page else good_for
        expires = None if lifetime is None else now + lifetime
        token = Token(secrets.token_hex(4), name, kind, user, iso(now), expires)
        await self._store.add_token(token, digest_of(secret))
        return secret, token

    async def ticket(self, who: Who) -> tuple[str, int]:
        """Creates a ticket for one WebSocket. Returns it and when it expires. Raises Refused."""
        return await self._ticket("socket", who, _TICKET_MS)

    async def link(self, who: Who) -> str:
        """Creates a link secret, which a browser exchanges for a cookie, once. Raises Refused."""
        return (await self._ticket("link", who, _LINK_MS))[0]

    def revoked_elsewhere(self, token_id: str) -> None:
        """Notes that another process has revoked a token."""
        self._revoked.add(token_id)

    async def revoke(self, token_id: str, by: str) -> bool:
        """Revokes a token. Returns False if there is no valid token with this id."""
        done = await self.void(token_id)
        if done:
            at, data = iso(self._clock.now()), {"token_id": token_id}
            await self._store.note("token_revoked", at=at, by=by, data=data)
        return done

    async def void(self, token_id: str) -> bool:
        """Revokes a token without a row in the audit trail. Returns False as `revoke` does."""
        self._revoked.add(token_id)
        return await self._store.revoke_token(token_id, at=iso(self._clock.now()))

    async def _ticket(self, kind: str, who: Who, good_for: int) -> tuple[str, int]:
        now = self._clock.now()
        secret = _new_secret()
        ticket = Ticket(kind, who.user, who.token_id, now + good_for)
        try:
            kept = await self._store.add_ticket(
                ticket, digest_of(secret), now=now, most=_MOST_TICKETS
            )
        except OverQuota as over:
            said = f"{over.message} Use one of them, or wait until they have expired."
            raise Refused("RATE_LIMITED", said, retry_after=good_for // 1000) from None
        if not kept:
            raise Refused("UNAUTHORIZED", VOID)
        return secret, ticket.expires_at

    async def enter(self, link: str) -> tuple[str, str, Token] | None:
        """Exchanges a link for a cookie and a page key.

        Returns None if it was used or has expired.
        """
        taken = await self._take("link", link, _LINK_MS)
        if taken is None:
            return None
        secret, token = await self.make("browser", taken.user, "page")
        cookie, _, page_key = secret.partition(_JOINT)
        return cookie, page_key, token

    # --- the owner ------------------------------------------------------------------------------

    async def owner(self, data_path: Path) -> Who:
        """Returns the owner, by the token in the owner's file. Creates the file if there is none.

        Only the owner can read the file.
        """
        file = owner_file(data_path)
        for _ in range(2):
            secret = _read_secret(file)
            if secret is not None:
                who = await self.holder(secret, "token")
                if who is not None and who.user is None:
                    return who
                with suppress(FileNotFoundError):  # revoked, or of another log
                    file.unlink()
            secret, token = await self.make("owner", None)
            if _write_secret(file, secret):
                return Who(None, token.token_id)
            await self._store.revoke_token(token.token_id, at=token.created_at)
        raise TurnwireError(f"The owner's token cannot be kept in {file}. Remove that file.")


def is_good(token: Token, now: int) -> bool:
    """Returns whether a token is neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def _read_secret(file: Path) -> str | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as failure:
        if failure.errno != errno.ELOOP:
            raise
        said = f"{file} is a link, and is not followed. Replace it with the file, or remove it."
        raise TurnwireError(said) from None
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as opened:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)  # a copy of the file may have other permissions
        return opened.read().strip()


def _write_secret(file: Path, secret: str) -> bool:
    """Creates the file with a secret. Returns False if another server has created it meanwhile."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(f"{secret}\n")
    return True
