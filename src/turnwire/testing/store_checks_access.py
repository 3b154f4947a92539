"""What a store promises about who may come in: tokens, tickets, and whose a blob is."""

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
    expect(await store.token(_DIGEST) is None, "an unknown one is none")
    await store.add_token(_ANN, _DIGEST)
    await store.add_token(_OWNER, _OTHER)
    expect(await store.token(_DIGEST) == _ANN, "it is as it was")
    expect(await store.token(_OTHER) == _OWNER, "also without a user, and with an end")
    expect(await store.tokens() == [_ANN, _OWNER], "the oldest is first")
    twice = store.add_token(structs.replace(_ANN, token_id="t-3"), _DIGEST)
    await expect_raises(Conflict, twice, "another token with the same digest")


async def a_token_is_revoked_once(store: Store) -> None:
    await store.add_token(_ANN, _DIGEST)
    await store.add_ticket(Ticket("socket", "ann", "t-1", NOW + 1000), _OTHER, now=NOW)
    expect(await store.revoke_token("t-1", at=at(3)), "it is revoked")
    expect(await store.token(_DIGEST) == structs.replace(_ANN, revoked_at=at(3)), "and says when")
    expect(not await store.revoke_token("t-1", at=at(4)), "a second time changes nothing")
    expect(not await store.revoke_token("other", at=at(4)), "nor does an unknown one")
    expect(await store.tokens() == [structs.replace(_ANN, revoked_at=at(3))], "it stays listed")
    taken = await store.take_ticket(_OTHER, "socket", now=NOW)
    expect(taken is None, "a ticket that was had with it is void")
    late = Ticket("socket", "ann", "t-1", NOW + 1000)
    expect(not await store.add_ticket(late, _OTHER, now=NOW), "and nobody gets another one")
    expect(await store.take_ticket(_OTHER, "socket", now=NOW) is None, "not even by trying")


async def a_ticket_is_no_better_than_its_token(store: Store) -> None:
    await store.add_token(_OWNER, _OTHER)
    ticket = Ticket("link", None, "t-2", NOW + 9000)
    expect(await store.add_ticket(ticket, _DIGEST, now=NOW), "while it is good, there are tickets")
    late = await store.take_ticket(_DIGEST, "link", now=NOW + 1000)
    expect(late is None, "when its time is over, theirs is")
    expect(not await store.add_ticket(ticket, _DIGEST, now=NOW + 1000), "and there are no others")


async def what_opens_nothing_for_long_is_deleted(store: Store) -> None:
    await store.add_token(_ANN, _DIGEST)
    await store.add_token(structs.replace(_OWNER, expires_at=NOW + 5_000), _OTHER)
    await store.revoke_token("t-1", at=iso(NOW + 3_000))
    await store.forget_tokens(before=NOW + 2_999)
    expect(len(await store.tokens()) == 2, "before their time they stay")
    await store.forget_tokens(before=NOW + 3_000)
    expect([each.token_id for each in await store.tokens()] == ["t-2"], "one that was revoked goes")
    await store.forget_tokens(before=NOW + 5_000)
    expect(await store.tokens() == [], "and one whose time is over")


async def a_ticket_is_good_once(store: Store) -> None:
    ticket = Ticket("socket", "ann", "t-1", NOW + 1000)
    await store.add_ticket(ticket, _DIGEST, now=NOW)
    expect(await store.take_ticket(_OTHER, "socket", now=NOW) is None, "an unknown one is none")
    expect(await store.take_ticket(_DIGEST, "link", now=NOW) is None, "it is good for one thing")
    takers = [store.take_ticket(_DIGEST, "socket", now=NOW) for _ in range(5)]
    taken = [each for each in await asyncio.gather(*takers) if each is not None]
    expect(taken == [ticket], "of many who come at once, one gets it")
    await store.add_ticket(ticket, _DIGEST, now=NOW)
    late = await store.take_ticket(_DIGEST, "socket", now=NOW + 1000)
    expect(late is None, "nobody gets it after its time")
    await store.add_ticket(ticket, _DIGEST, now=NOW)
    await store.add_ticket(Ticket("link", "bob", "t-2", NOW + 1000), _OTHER, now=NOW)
    await store.void_tickets("ann")
    expect(await store.take_ticket(_DIGEST, "socket", now=NOW) is None, "one that is void is none")
    kept = await store.take_ticket(_OTHER, "link", now=NOW)
    expect(kept is not None, "tickets of another user stay")


async def a_blob_knows_whose_it_is(store: Store) -> None:
    await store.put_blob("b-1", b"123", "image/png", at=at(), user="ann", conversation_id="c")
    await store.put_blob("b-2", b"", "text/plain", at=at())
    row = await store.blob("b-1")
    expect(row is not None and (row.mime_type, row.size) == ("image/png", 3), "its kind and size")
    expect(row is not None and (row.user, row.conversation_id) == ("ann", "c"), "and whose it is")
    row = await store.blob("b-2")
    expect(
        row is not None and (row.user, row.conversation_id) == (None, None), "it may be no one's"
    )
    expect(await store.blob("b-3") is None, "an unknown one is none")


async def a_quota_holds_however_many_come_at_once(store: Store) -> None:
    many = [
        store.put_blob(f"b-{number}", b"12345", "text/plain", at=at(), user="ann", quota=12)
        for number in range(5)
    ]
    refused = [each for each in await asyncio.gather(*many, return_exceptions=True) if each]
    expect(len(refused) == 3, "two of five bytes fit into twelve")
    over = [each for each in refused if isinstance(each, OverQuota)]
    expect(len(over) == 3, "the others are over the quota")
    expect(over[0].data == {"kept": 10, "quota": 12}, "which says what is kept")
    await store.put_blob("b-9", b"12345", "text/plain", at=at(), user="bob", quota=12)
    await store.put_blob("b-8", b"12345", "text/plain", at=at(), user="ann")
    expect(await store.blob("b-8") is not None, "without a quota nothing is counted")


ACCESS_CHECKS = [
    a_token_is_found_by_its_digest,
    a_token_is_revoked_once,
    a_ticket_is_no_better_than_its_token,
    what_opens_nothing_for_long_is_deleted,
    a_ticket_is_good_once,
    a_blob_knows_whose_it_is,
    a_quota_holds_however_many_come_at_once,
]
