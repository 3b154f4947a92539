"""Keys: the users and the validity of a token, a cookie, a ticket and a link."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.errors import TurnwireError
from turnwire.ports import Store, Token
from turnwire.server.access import keys as keys_module
from turnwire.server.access.keys import (
    Keys,
    Who,
    digest_of,
    new_token,
    owner_file,
    page_token,
    read_owner_token,
)
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

ANN, BOB, OWNER = Who("ann", "user:ann"), Who("bob", "user:bob"), Who(None, "t-owner")
DAY = 24 * 3600
MINUTE = 60


class Scene:
    """Keys on a real store, and a clock that stands still."""

    def __init__(self, store: Store, folder: Path, clock: ManualClock) -> None:
        self.store, self.folder, self.clock = store, folder, clock
        self.keys = Keys(store, clock)

    async def holder(self, secret: str, kind: str = "token") -> str | None:
        """The id of the token that this opens with."""
        who = await self.keys.holder(secret, kind)
        return None if who is None else who.token_id

    async def token_ids(self) -> set[str]:
        return {token.token_id for token in await self.store.tokens()}


@asynccontextmanager
async def scene(folder: Path, *, now: int = 1_767_268_800_000) -> AsyncIterator[Scene]:
    store = await SqliteStore.open(folder / "turnwire.db")
    try:
        yield Scene(store, folder, ManualClock(now))
    finally:
        await store.close()


# --- the user of a key ----------------------------------------------------------------------------


def test_the_owner_sees_everything_and_a_user_only_their_own() -> None:
    assert (OWNER.name, OWNER.is_owner) == ("owner", True)
    assert (ANN.name, ANN.is_owner) == ("ann", False)
    assert [OWNER.may_see(user) for user in (None, "ann")] == [True, True]
    assert [ANN.may_see(user) for user in (None, "bob", "ann")] == [False, False, True]


def test_the_user_of_a_client_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ANN.user = None  # type: ignore[misc]


def test_a_client_id_belongs_to_one_user_and_one_token_and_names_neither() -> None:
    ids = {who.client_id for who in (ANN, BOB, Who("ann", "other"), Who("ann", "user:ann"))}
    assert len(ids) == 3
    for each in ids:
        assert len(bytes.fromhex(each)) == 8
        assert each not in digest_of(ANN.token_id).hex()


def test_a_token_has_256_random_bits() -> None:
    first, second = new_token(), new_token()
    assert first != second
    assert first.startswith("tw_")
    assert len(base64.urlsafe_b64decode(first.removeprefix("tw_") + "=")) == 32


# --- tokens ---------------------------------------------------------------------------------------


async def test_a_token_opens_for_the_user_it_was_made_for(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        secret, token = await on.keys.make("laptop", "ann")
        assert await on.keys.holder(secret, "token") == Who("ann", token.token_id)
        assert await on.holder(secret, "page") is None
        assert await on.holder(new_token()) is None
        kept = Token(token.token_id, "laptop", "token", "ann", iso(on.clock.now()))
        assert await on.store.tokens() == [kept]
        assert len(bytes.fromhex(token.token_id)) == 4
        assert len(secret) == len(new_token()), "it has no halves, unlike that of a page"
        on.clock.forward(1000 * DAY)
        assert await on.holder(secret) == token.token_id, "it has no end"


async def test_a_cookie_needs_its_page_key_and_is_good_for_thirty_days(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        entered = await on.keys.enter(await on.keys.link(ANN))
        assert entered is not None
        cookie, key, token = entered
        both = page_token(cookie, key)
        assert (token.name, token.kind, token.user) == ("browser", "page", "ann")
        assert await on.holder(both, "page") == token.token_id
        assert await on.holder(both) is None
        for half in (cookie, key, page_token(cookie, new_token())):
            assert await on.holder(half, "page") is None
        assert cookie.startswith("tw_")
        assert "." not in cookie + key, "so it is known where one half ends"
        assert both == f"{cookie}.{key}", "browsers of a version before this one have such halves"
        on.clock.forward(30 * DAY - 0.001)
        assert await on.holder(both, "page") == token.token_id
        assert await on.keys.good_tokens() == {token.token_id}
        on.clock.forward(0.001)
        assert await on.holder(both, "page") is None
        assert await on.keys.good_tokens() == set()


async def test_a_revoked_token_opens_nothing_from_that_moment(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        secret, token = await on.keys.make("laptop", "ann")
        other, kept = await on.keys.make("phone", "ann")
        assert await on.holder(secret) == token.token_id
        assert await on.keys.revoke(token.token_id, "owner") is True
        assert await on.holder(secret) is None
        assert await on.keys.good_tokens() == {kept.token_id}
        assert await on.holder(other) == kept.token_id
        [note] = await on.store.audit()
        assert (note.action, note.by, note.data) == (
            "token_revoked",
            "owner",
            {"token_id": token.token_id},
        )
        assert await on.keys.revoke(token.token_id, "owner") is False
        assert await on.keys.revoke("nonsense", "owner") is False
        assert len(await on.store.audit()) == 1


async def test_a_token_that_another_process_revokes_is_trusted_for_one_second(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as on:
        secret, token = await on.keys.make("laptop", "ann")
        assert await on.holder(secret) == token.token_id
        await on.store.revoke_token(token.token_id, at=iso(on.clock.now()))
        assert await on.holder(secret) == token.token_id
        on.clock.forward(0.999)
        assert await on.holder(secret) == token.token_id
        on.clock.forward(0.001)
        assert await on.holder(secret) is None
        assert await Keys(on.store, on.clock).holder(secret, "token") is None


async def test_a_clock_that_is_set_back_does_not_make_a_token_be_trusted_longer(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as on:
        secret, token = await on.keys.make("laptop", "ann")
        assert await on.holder(secret) == token.token_id
        await on.store.revoke_token(token.token_id, at=iso(on.clock.now()))
        on.clock.jump(-0.001)
        assert await on.holder(secret) is None


async def test_only_so_many_tokens_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "_MOST_TRUSTED", 2)
    async with scene(tmp_path) as on:
        made = [await on.keys.make("laptop", "ann") for _ in range(3)]
        for secret, token in made[:2]:
            assert await on.holder(secret) == token.token_id
            await on.store.revoke_token(token.token_id, at=iso(on.clock.now()))
        for secret, token in made[:2]:
            assert await on.holder(secret) == token.token_id, "both are remembered"
        assert await on.holder(made[2][0]) == made[2][1].token_id
        assert [await on.holder(secret) for secret, _ in made[:2]] == [None, None]


async def test_a_void_token_is_listed_for_thirty_days(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        _, good = await on.keys.make("laptop", "ann")
        _, void = await on.keys.make("phone", "ann")
        await on.keys.revoke(void.token_id, "owner")
        on.clock.forward(30 * DAY - 0.001)
        await on.keys.forget()
        assert await on.token_ids() == {good.token_id, void.token_id}
        on.clock.forward(0.001)
        await on.keys.forget()
        assert await on.token_ids() == {good.token_id}


# --- tickets and links ----------------------------------------------------------------------------


async def test_a_ticket_opens_once_within_a_minute_for_its_user(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        for who in (ANN, OWNER):
            ticket, until = await on.keys.ticket(who)
            assert until == on.clock.now() + 60_000
            assert await on.keys.enter(ticket) is None, "a ticket is no link"
            assert await on.keys.take_ticket(ticket) == who
            assert await on.keys.take_ticket(ticket) is None
        late, _ = await on.keys.ticket(ANN)
        last, _ = await on.keys.ticket(ANN)
        on.clock.forward(MINUTE - 0.001)
        assert await on.keys.take_ticket(last) == ANN
        on.clock.forward(0.001)
        assert await on.keys.take_ticket(late) is None


async def test_a_link_becomes_a_cookie_once_within_fifteen_minutes(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        for who in (ANN, OWNER):
            link = await on.keys.link(who)
            assert await on.keys.take_ticket(link) is None, "a link is no ticket"
            entered = await on.keys.enter(link)
            assert entered is not None
            assert entered[2].user == who.user
            assert await on.keys.enter(link) is None
        late, last = await on.keys.link(ANN), await on.keys.link(ANN)
        on.clock.forward(15 * MINUTE - 0.001)
        assert await on.keys.enter(last) is not None
        on.clock.forward(0.001)
        assert await on.keys.enter(late) is None


async def test_a_token_has_at_most_a_hundred_tickets_and_a_hundred_links(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        for _ in range(100):
            await on.keys.ticket(ANN)
        with pytest.raises(Refused) as refused:
            await on.keys.ticket(ANN)
        assert refused.value.code == "RATE_LIMITED"
        assert refused.value.data["retry_after"] == 60
        await on.keys.ticket(BOB)
        for _ in range(100):
            await on.keys.link(ANN)
        with pytest.raises(Refused) as refused:
            await on.keys.link(ANN)
        assert refused.value.data["retry_after"] == 900
        on.clock.forward(MINUTE)
        await on.keys.ticket(ANN)


async def test_a_void_token_gets_no_ticket_and_no_link(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        secret, token = await on.keys.make("laptop", "ann")
        who = await on.keys.holder(secret, "token")
        assert who is not None
        ticket, _ = await on.keys.ticket(who)
        await on.store.revoke_token(token.token_id, at=iso(on.clock.now()))
        for ask in (on.keys.ticket, on.keys.link):
            with pytest.raises(Refused) as refused:
                await ask(who)
            assert refused.value.code == "UNAUTHORIZED"
        assert await on.keys.take_ticket(ticket) is None, "and those it has got are void"


async def test_a_sign_out_voids_all_earlier_tickets_of_the_user(tmp_path: Path) -> None:
    async with scene(tmp_path, now=0) as on:
        before, link = await on.keys.ticket(ANN), await on.keys.link(ANN)
        owners, bobs = await on.keys.ticket(OWNER), await on.keys.ticket(BOB)
        on.keys.sign_out("ann")
        assert await on.keys.take_ticket(before[0]) is None
        assert await on.keys.enter(link) is None
        assert await on.keys.take_ticket(owners[0]) == OWNER
        assert await on.keys.take_ticket(bobs[0]) == BOB
        same, _ = await on.keys.ticket(ANN)
        assert await on.keys.take_ticket(same) is None, "of the same moment: it may be older"
        on.clock.forward(0.001)
        ticket, _ = await on.keys.ticket(ANN)
        assert await on.keys.take_ticket(ticket) == ANN, "a user may sign in again"
        assert await on.keys.enter(await on.keys.link(ANN)) is not None


async def test_a_sign_out_is_remembered_for_as_long_as_a_link_is_good(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        link = await on.keys.link(ANN)
        on.keys.sign_out("ann")
        on.clock.forward(15 * MINUTE - 0.001)
        on.keys.sign_out("bob")
        assert await on.keys.enter(link) is None
        on.clock.forward(0.001)
        on.keys.sign_out("carl")
        assert set(on.keys._signed_out) == {"bob", "carl"}, "or memory would fill with old names"


async def test_void_tickets_are_void_for_another_process_too(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        (anns, _), (bobs, _) = await on.keys.ticket(ANN), await on.keys.ticket(BOB)
        await on.keys.void_tickets("ann")
        other = Keys(on.store, on.clock)
        assert await other.take_ticket(anns) is None
        assert await other.take_ticket(bobs) == BOB


# --- the owner's file -----------------------------------------------------------------------------


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


async def test_the_owners_token_is_made_once_in_a_file_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with scene(tmp_path) as on:
            who = await on.keys.owner(tmp_path)
            file = tmp_path / "owner-token"
            assert owner_file(tmp_path) == file
            assert mode_of(file) == 0o600
            secret = read_owner_token(tmp_path)
            assert file.read_text() == f"{secret}\n"
            assert await on.keys.holder(secret, "token") == who
            assert who.is_owner
            assert await on.keys.owner(tmp_path) == who
            assert await Keys(on.store, on.clock).owner(tmp_path) == who
            assert [token.name for token in await on.store.tokens()] == ["owner"]
    finally:
        os.umask(before)


async def test_an_owners_file_that_does_not_open_this_log_is_replaced(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        file = owner_file(tmp_path)
        anns, _ = await on.keys.make("laptop", "ann")
        page, _ = await on.keys.make("browser", None, "page")
        void, token = await on.keys.make("owner", None)
        await on.keys.revoke(token.token_id, "owner")
        for content in (anns, page, void, new_token(), "", "\xff\xff"):
            file.write_text(content, encoding="latin-1")
            who = await on.keys.owner(tmp_path)
            assert who.is_owner
            assert await on.holder(read_owner_token(tmp_path)) == who.token_id


async def test_the_rights_of_a_copied_owners_file_are_narrowed_but_never_widened(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as on:
        await on.keys.owner(tmp_path)
        file = owner_file(tmp_path)
        for before, after in ((0o644, 0o600), (0o601, 0o600), (0o400, 0o400), (0o700, 0o700)):
            file.chmod(before)
            read_owner_token(tmp_path)
            assert mode_of(file) == after


async def test_a_link_in_place_of_the_owners_file_is_not_followed(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        secret = tmp_path / "secret"
        secret.write_text("of another program")
        owner_file(tmp_path).symlink_to(secret)
        with pytest.raises(TurnwireError):
            read_owner_token(tmp_path)
        with pytest.raises(TurnwireError):
            await on.keys.owner(tmp_path)
        assert secret.read_text() == "of another program"


def test_a_missing_or_unreadable_owner_file_is_a_system_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        read_owner_token(tmp_path)
    assert missing.value.filename == str(owner_file(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        read_owner_token(tmp_path / "file")


def let_another_server_write(store: Store, folder: Path, secret: str) -> None:
    """Another server writes the owner's file whenever this one makes a token."""
    add = store.add_token

    async def add_token(token: Token, digest: bytes) -> None:
        await add(token, digest)
        owner_file(folder).write_text(secret)

    store.add_token = add_token  # type: ignore[method-assign]


async def test_the_first_of_two_servers_that_make_the_owners_token_wins(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        secret = new_token()
        theirs = Token("theirs", "owner", "token", None, iso(on.clock.now()))
        await on.store.add_token(theirs, digest_of(secret))
        let_another_server_write(on.store, tmp_path, secret)
        assert await on.keys.owner(tmp_path) == Who(None, "theirs")
        assert await on.keys.good_tokens() == {"theirs"}, "the one that came too late is void"


async def test_an_owners_token_that_cannot_be_stored_is_not_left_half_written(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as on:
        let_another_server_write(on.store, tmp_path, "nonsense")
        with pytest.raises(TurnwireError):
            await on.keys.owner(tmp_path)
        assert len(await on.store.tokens()) == 2, "it was tried twice"
        assert await on.keys.good_tokens() == set()
