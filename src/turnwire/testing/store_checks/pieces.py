"""Checks of a store for session pieces, and for the node that a conversation is pinned to."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.effects import EndRequest
from turnwire.core.conversation.state import Conversation
from turnwire.ports import Conflict, Fenced, NativeFork, NewConversation, SessionPiece, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import LEASE, NOW, Writing, at, begin

__all__ = ["PIECE_CHECKS"]

_ONE = SessionPiece("s-1", "lines", b"\x00one")
_TWO = SessionPiece("s-1", "a file \x00", b"")
_THREE = SessionPiece("s-1", "lines", bytes(range(256)) * 40)
_OTHER = SessionPiece("s-2", "lines", b"other")


async def _keep(talk: Writing, *pieces: SessionPiece, text: str | None = "x") -> None:
    writes = [] if text is None else talk.entries(text)
    await talk.commit(structs.replace(talk.prepare(*writes), pieces=[*pieces]))


async def pieces_are_written_with_their_commit_and_keep_their_order(store: Store) -> None:
    talk = await begin(store)
    expect(await store.session_pieces("c", "s-1") == [], "a new conversation has no pieces")
    await _keep(talk, _THREE, _ONE)
    await _keep(talk, _OTHER, _TWO, text=None)
    await _keep(talk, _ONE)
    expect(
        await store.session_pieces("c", "s-1") == [_THREE, _ONE, _TWO, _ONE],
        "the pieces of a session come back unchanged, in the order of their commits",
    )
    expect(await store.session_pieces("c", "s-2") == [_OTHER], "each session has its own pieces")
    expect(await store.session_pieces("d", "s-1") == [], "another conversation has no pieces")
    refused = structs.replace(
        talk.prepare(EndRequest("none", "answered", "ann")), pieces=[_TWO, _TWO]
    )
    await expect_raises(Conflict, store.commit(refused), "ending a request that is not open")
    expect(
        len(await store.session_pieces("c", "s-1")) == 4,
        "a refused commit writes none of its pieces",
    )


async def a_stale_owner_writes_and_forgets_no_pieces(store: Store) -> None:
    old = await begin(store, owner="one")
    await _keep(old, _ONE, _OTHER)
    claim = await store.claim("c", "two", now=NOW + LEASE, lease=LEASE)
    late = structs.replace(old.prepare(*old.entries("late")), pieces=[_TWO])
    await expect_raises(Fenced, store.commit(late), "a commit of the old owner")
    await expect_raises(
        Fenced, store.forget_pieces(old.claim, keep="s-1"), "the old owner forgets pieces"
    )
    await expect_raises(Fenced, store.pin(old.claim, "east"), "the old owner pins")
    expect(
        await store.session_pieces("c", "s-1") == [_ONE]
        and await store.session_pieces("c", "s-2") == [_OTHER],
        "nothing of the old owner is written",
    )
    await store.forget_pieces(claim, keep="s-2")
    expect(
        await store.session_pieces("c", "s-1") == []
        and await store.session_pieces("c", "s-2") == [_OTHER],
        "the owner forgets the pieces of all sessions but one",
    )


async def pieces_count_as_stored_bytes_of_their_user(store: Store) -> None:
    talk = await begin(store, user="ann")
    before = (await store.stored("ann")).bytes
    await _keep(talk, _THREE, text=None)
    size = (await store.stored("ann")).bytes - before
    expect(size == len(_THREE.data), f"a piece counts with its bytes, not with {size}")
    await _keep(talk, _OTHER, text=None)
    await store.forget_pieces(talk.claim, keep="s-2")
    size = (await store.stored("ann")).bytes - before
    expect(size == len(_OTHER.data), f"forgotten pieces do not count: {size}")
    await store.delete("c")
    left = await store.stored("ann")
    expect((left.bytes, left.conversations) == (0, 0), f"after the deletion {left} is counted")


async def pieces_go_with_their_conversation(store: Store) -> None:
    talk = await begin(store)
    await _keep(talk, _ONE)
    await store.delete("c")
    expect(await store.session_pieces("c", "s-1") == [], "a deleted conversation has no pieces")
    await begin(store)
    expect(
        await store.session_pieces("c", "s-1") == [],
        "a new conversation with a deleted one's id has no pieces",
    )


async def a_fork_begins_with_the_pieces_of_the_session_that_it_continues(store: Store) -> None:
    talk = await begin(store, user="ann")
    await _keep(talk, _ONE, _OTHER, _THREE)
    before = (await store.stored("ann")).bytes
    new = NewConversation(
        *("f", "demo", at(), "ann"),
        state=Conversation("f", head=1, turns=1),
        parent_id="c",
        forked_at=1,
        native_from=NativeFork("s-1"),
    )
    await store.fork(new)
    expect(
        await store.session_pieces("f", "s-1") == [_ONE, _THREE]
        and await store.session_pieces("f", "s-2") == [],
        "a fork has a copy of the pieces of the session that it begins with",
    )
    await store.delete("c")
    expect(
        await store.session_pieces("f", "s-1") == [_ONE, _THREE],
        "the pieces of a fork outlive its parent",
    )
    await store.delete("f")
    left = (await store.stored("ann")).bytes
    expect(before > 0 and left == 0, f"after both deletions {left} bytes are counted")


async def a_conversation_can_be_pinned_to_a_node(store: Store) -> None:
    talk = await begin(store)
    row = await store.conversation("c")
    expect(row is not None and row.node is None, "a new conversation is not pinned")
    await store.pin(talk.claim, "east")
    row = await store.conversation("c")
    expect(row is not None and row.node == "east", "a pinned conversation names its node")
    made = await store.create(NewConversation("d", "demo", at(), node="west"))
    expect(made.node == "west", "a conversation can be created on a node")
    await talk.say("more")


PIECE_CHECKS = [
    pieces_are_written_with_their_commit_and_keep_their_order,
    a_stale_owner_writes_and_forgets_no_pieces,
    pieces_count_as_stored_bytes_of_their_user,
    pieces_go_with_their_conversation,
    a_fork_begins_with_the_pieces_of_the_session_that_it_continues,
    a_conversation_can_be_pinned_to_a_node,
]
