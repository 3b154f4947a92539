"""Checks of a store for access: tokens, tickets, users of blobs and quotas."""

from __future__ import annotations

import asyncio

from msgspec import structs

from turnwire.core.times import iso
from turnwire.ports import Conflict, OverQuota, Store, Ticket, Token
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import NOW, at

__all__ = ["ACCESS_CHECKS"]

_ANN = Token("t-1", "laptop", "token", "ann", at(1))
_OWNER = Token("t-2", "owner", "page", None, at(2), NOW + 1000)
_DIGEST, _OTHER = b"\x00" * 32, b"\xff" * 32


async def a_token_is_found_by_its_digest(store: Store) -> None:
    expect(await store.token(_DIGEST) is None, "`token` returns None for an unknown digest")
    await store.add_token(_ANN, _DIGEST)
    await store.add_token(_OWNER, _OTHER)
    expect(await store.token(_DIGEST) == _ANN, "a token is found as it was stored")
    expect(
        await store.token(_OTHER) == _OWNER, "a token without a user and with an expiry is found"
    )
    expect(await store.tokens() == [_ANN, _OWNER], "`tokens` lists the oldest token first")
    twice = store.add_token(structs.replace(_ANN, token_id="t-3"), _DIGEST)
    await expect_raises(Conflict, twice, "another token with the same digest")


async def a_token_is_revoked_once(store: Store) -> None:
    await store.add_token(_ANN, _DIGEST)
    await store.add_ticket(Ticket("socket", "ann", "t-1", NOW + 1000), _OTHER, now=NOW)
    expect(await store.revoke_token("t-1", at=at(3)), "revoking a token returns True")
    expect(
        await store.token(_DIGEST) == structs.replace(_ANN, revoked_at=at(3)),
        "a revoked token has the time of its revocation",
    )
    expect(not await store.revoke_token("t-1", at=at(4)), "revoking a token again returns False")
    expect(
        not await store.revoke_token("other", at=at(4)), "revoking an unknown token returns False"
    )
    expect(
        await store.tokens() == [structs.replace(_ANN, revoked_at=at(3))],
        "a revoked token stays in the list",
    )
    taken = await store.take_ticket(_OTHER, "socket", now=NOW)
    expect(taken is None, "a ticket of a revoked token is void")
    late = Ticket("socket", "ann", "t-1", NOW + 1000)
    expect(not await store.add_ticket(late, _OTHER, now=NOW), "a revoked token gets no new ticket")
    expect(
        await store.take_ticket(_OTHER, "socket", now=NOW) is None,
        "a ticket that was refused is not stored",
    )


async def a_ticket_ends_with_its_token(store: Store) -> None:
    await store.add_token(_OWNER, _OTHER)
    ticket = Ticket("link", None, "t-2", NOW + 9000)
    expect(await store.add_ticket(ticket, _DIGEST, now=NOW), "a valid token gets a ticket")
    late = await store.take_ticket(_DIGEST, "link", now=NOW + 1000)
    expect(late is None, "a ticket expires with its token")
    expect(
        not await store.add_ticket(ticket, _DIGEST, now=NOW + 1000),
        "an expired token gets no new ticket",
    )


async def old_tokens_and_tickets_are_deleted(store: Store) -> None:
    await store.add_token(_ANN, _DIGEST)
    await store.add_token(structs.replace(_OWNER, expires_at=NOW + 5_000), _OTHER)
    await store.revoke_token("t-1", at=iso(NOW + 3_000))
    await store.forget_tokens(before=NOW + 2_999)
    expect(
        len(await store.tokens()) == 2,
        "`forget_tokens` keeps tokens that were valid after `before`",
    )
    await store.forget_tokens(before=NOW + 3_000)
    expect(
        [each.token_id for each in await store.tokens()] == ["t-2"],
        "`forget_tokens` deletes a token revoked at `before` or earlier",
    )
    await store.forget_tokens(before=NOW + 5_000)
    expect(
        await store.tokens() == [], "`forget_tokens` deletes a token expired at `before` or earlier"
    )


async def a_ticket_is_good_once(store: Store) -> None:
    ticket = Ticket("socket", "ann", "t-1", NOW + 1000)
    await store.add_ticket(ticket, _DIGEST, now=NOW)
    expect(
        await store.take_ticket(_OTHER, "socket", now=NOW) is None,
        "`take_ticket` returns None for an unknown digest",
    )
    expect(
        await store.take_ticket(_DIGEST, "link", now=NOW) is None,
        "a ticket is valid only for its purpose",
    )
    takers = [store.take_ticket(_DIGEST, "socket", now=NOW) for _ in range(5)]
    taken = [each for each in await asyncio.gather(*takers) if each is not None]
    expect(taken == [ticket], "one of several concurrent callers gets the ticket")
    await store.add_ticket(ticket, _DIGEST, now=NOW)
    late = await store.take_ticket(_DIGEST, "socket", now=NOW + 1000)
    expect(late is None, "an expired ticket is not returned")
    await store.add_ticket(ticket, _DIGEST, now=NOW)
    await store.add_ticket(Ticket("link", "bob", "t-2", NOW + 1000), _OTHER, now=NOW)
    await store.void_tickets("ann")
    expect(
        await store.take_ticket(_DIGEST, "socket", now=NOW) is None, "a void ticket is not returned"
    )
    kept = await store.take_ticket(_OTHER, "link", now=NOW)
    expect(kept is not None, "voiding tickets keeps the tickets of another user")


async def a_blob_has_its_user(store: Store) -> None:
    await store.put_blob("b-1", b"123", "image/png", at=at(), user="ann", conversation_id="c")
    await store.put_blob("b-2", b"", "text/plain", at=at())
    row = await store.blob("b-1")
    expect(
        row is not None and (row.mime_type, row.size) == ("image/png", 3),
        "a blob has its MIME type and size",
    )
    expect(
        row is not None and (row.user, row.conversation_id) == ("ann", "c"),
        "a blob has its user and conversation",
    )
    row = await store.blob("b-2")
    expect(
        row is not None and (row.user, row.conversation_id) == (None, None),
        "a blob may have neither user nor conversation",
    )
    expect(await store.blob("b-3") is None, "`blob` returns None for an unknown id")


async def a_quota_holds_for_concurrent_uploads(store: Store) -> None:
    many = [
        store.put_blob(f"b-{number}", b"12345", "text/plain", at=at(), user="ann", quota=12)
        for number in range(5)
    ]
    refused = [each for each in await asyncio.gather(*many, return_exceptions=True) if each]
    expect(len(refused) == 3, "a quota of twelve bytes accepts two blobs of five bytes")
    over = [each for each in refused if isinstance(each, OverQuota)]
    expect(len(over) == 3, "each further blob raises OverQuota")
    expect(
        over[0].data == {"kept": 10, "quota": 12}, "OverQuota has the stored bytes and the quota"
    )
    await store.put_blob("b-9", b"12345", "text/plain", at=at(), user="bob", quota=12)
    await store.put_blob("b-8", b"12345", "text/plain", at=at(), user="ann")
    expect(await store.blob("b-8") is not None, "a blob without a quota is always stored")


ACCESS_CHECKS = [
    a_token_is_found_by_its_digest,
    a_token_is_revoked_once,
    a_ticket_ends_with_its_token,
    old_tokens_and_tickets_are_deleted,
    a_ticket_is_good_once,
    a_blob_has_its_user,
    a_quota_holds_for_concurrent_uploads,
]
