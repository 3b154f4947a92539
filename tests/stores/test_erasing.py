"""Erasing: no word of a deleted conversation is in the file, its side files or a backup."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from msgspec import Raw, structs

from tests.stores.helpers.sql import rows_of
from turnwire.core.content import TextContent
from turnwire.core.conversation.effects import (
    AddEntry,
    EndRequest,
    EndTurn,
    OpenRequestRow,
    Write,
)
from turnwire.core.conversation.state import Waiting
from turnwire.core.message import (
    BlobRef,
    ImagePart,
    ImagePayload,
    Message,
    MessagePart,
    ToolResultPart,
    ToolResultPayload,
    meta_of,
)
from turnwire.core.partials import Partial
from turnwire.core.status import QueueItem, TurnEnd, TurnError
from turnwire.ports import Connection, Receipt
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import (
    TRACE,
    Writing,
    a_message,
    a_question,
    a_request,
    at,
    begin,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


# These may have been erased when something else was written in their place.
_OVERWRITTEN = {"first title", "queue item", "replaced queue item", "removed queue item"}
_OVERWRITTEN |= {"partial of a finished block"}


class Planted:
    """Words that nothing else has. The search index shares beginnings of words, so ends are sought."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        self.words: dict[str, str] = {}

    def __call__(self, kind: str) -> str:
        word = "".join(self._random.choices(_LETTERS, k=20))
        self.words[kind] = word
        return word

    def found(self, folder: Path) -> set[str]:
        """Returns the places where a word of each kind is still readable."""
        out = set()
        for path in folder.iterdir():
            if path.is_dir() or path.name.endswith("-ballast"):
                continue
            data = path.read_bytes() if path.exists() else b""
            for kind, word in self.words.items():
                if word[-12:].encode() in data:
                    out.add(f"{kind} in {path.name}")
        return out


async def _plant(talk: Writing, word: Planted) -> None:
    """Stores data of every kind in a conversation. Much of it is overwritten later."""
    store, state = talk.store, talk.state

    async def write(*writes: Write, **more: object) -> None:
        nonlocal state
        state = structs.replace(state, **more)
        await talk.commit(talk.prepare(*writes, state=state))
        state = talk.state

    def entry(*parts: MessagePart, role: str = "user") -> AddEntry:
        message = Message("c:1", role, [*parts], at(), meta_of("c:1"))  # type: ignore[arg-type]
        return AddEntry(state.head + 1, message, 1, TRACE)

    def queue(kind: str, length: int = 1) -> list[Waiting]:
        text = " ".join([word(kind), *["filler"] * length])
        return [Waiting(QueueItem("q", [TextContent(text)]), TRACE)]

    await write(title=word("first title"))
    await write(title=word("title"))
    await write(queue=queue("queue item"))
    await write(queue=queue("replaced queue item", 4000))  # too long for one page
    await write(queue=queue("removed queue item", 9000))
    await write(queue=[])
    raw = Raw(b'{"said":"%s"}' % word("raw event").encode())
    said = AddEntry(state.head + 1, a_message(word("message")), 1, TRACE, raw)
    await write(said)
    await write(AddEntry(state.head + 1, a_message(f"{word('long')} " * 3000), 1, TRACE))
    result = ToolResultPayload("toolu_0", False, f"{word('tool result')} and more")
    await write(entry(ToolResultPart(result), role="tool"))
    picture = ImagePayload("image/png", word("inline picture"), None, None)
    await write(entry(ImagePart(picture)))
    asked = AddEntry(state.head + 1, a_question(word("question"), [word("option")]), 1, TRACE)
    request = structs.replace(a_request(), input={"question": word("request input")})
    await write(asked, OpenRequestRow(request), requests=[request])
    await write(EndRequest("toolu_1", "answered", "ada"), requests=[])
    wants = structs.replace(a_request("p", "permission"), input={"command": word("permission")})
    await write(OpenRequestRow(wants), requests=[wants])
    error = TurnError("broke", word("error of a turn"))
    await write(EndTurn(1, TRACE, TurnEnd(True, False, error=error)))
    receipt = Receipt("ada", "m-1", b"", b'{"result":"%s"}' % word("receipt").encode())
    await talk.commit(talk.prepare(receipt=receipt))
    state = talk.state
    for blob_id, kind in (("b-used", "blob"), ("b-unused", "blob that was only uploaded")):
        data = word(kind).encode() * 2000
        await store.put_blob(blob_id, data, "image/png", at=at(), conversation_id="c")
    ref = BlobRef("b-used", "image/png", 40_000)
    await write(entry(ImagePart(ImagePayload("image/png", None, None, ref))))
    for place, kind in enumerate(("partial of a finished block", "partial", "long partial")):
        text = f"{word(kind)} " * (3000 if kind.startswith("long") else 1)
        await store.save_partials(talk.claim, [Partial("m", place, "text", text, 0, place)])
    await talk.commit(structs.replace(talk.prepare(), ended_blocks=[("m", 0)]))
    await store.connected([Connection("k", "c", "one", word("client"), at(), at(), "ada")])


async def _others(store: SqliteStore, count: int, name: str) -> None:
    """Makes other conversations in the same pages."""
    choice = random.Random(3)
    vocabulary = ["".join(choice.choices(_LETTERS, k=7)) for _ in range(3000)]
    for number in range(count):
        talk = await begin(store, f"{name}-{number}")
        for _ in range(5):
            await talk.say(" ".join(choice.choices(vocabulary, k=60)))


async def _until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.02)


async def _filled(path: Path, word: Planted) -> SqliteStore:
    store = await SqliteStore.open(path)
    await _others(store, 40, "before")
    await _plant(await begin(store), word)
    await _others(store, 40, "later")
    return store


def _is_marked(path: Path) -> bool:
    return bool(rows_of(path, "SELECT 1 FROM meta WHERE name = 'to_erase'"))


def test_no_word_of_a_deleted_conversation_stays_in_the_file(tmp_path: Path) -> None:
    word = Planted()

    async def run() -> None:
        store = await _filled(tmp_path / "log.db", word)
        kinds = {place.split(" in ")[0] for place in word.found(tmp_path)}
        assert kinds >= set(word.words) - _OVERWRITTEN  # each can be found while it is there
        await store.delete("c")
        await _until(lambda: not word.found(tmp_path))
        assert await store.get_blob("b-used") is None
        assert await store.get_blob("b-unused") is None
        await _until(lambda: not _is_marked(tmp_path / "log.db"))
        await store.backup(str(tmp_path / "copy.db"))
        assert not word.found(tmp_path)
        await store.close()

    asyncio.run(run())
    assert rows_of(tmp_path / "log.db", "PRAGMA integrity_check") == [("ok",)]


def test_a_backup_has_nothing_that_was_deleted_a_moment_before(tmp_path: Path) -> None:
    word = Planted()
    copies = tmp_path / "copies"
    copies.mkdir()

    async def run() -> None:
        store = await _filled(tmp_path / "log.db", word)
        await store.delete("c")
        await store.backup(str(copies / "copy.db"))  # nothing is erased yet
        assert not word.found(copies)
        await store.close()
        copy = await SqliteStore.open(copies / "copy.db")
        assert len(await copy.conversations()) == 80
        entry = (await copy.entries("later-3"))[2].entry
        said = entry.parts[0].payload.text  # type: ignore[union-attr]
        hits = await copy.search(" ".join(said.split()[:9]))
        assert ("later-3", 3) in {(hit.conversation_id, hit.sequence) for hit in hits}
        await copy.close()

    asyncio.run(run())


def test_erasing_waits_for_readers_and_is_done_when_they_have_gone(tmp_path: Path) -> None:
    word = Planted()
    path = tmp_path / "log.db"

    async def run() -> None:
        store = await _filled(path, word)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM messages").get
        await store.delete("c")
        talk = await begin(store, "new")
        for number in range(20):  # others write on meanwhile
            await talk.say(f"number {number}")
        assert _is_marked(path)
        assert word.found(tmp_path)  # it is this reader's right to see it
        reader.execute("COMMIT")
        reader.close()
        await _until(lambda: not word.found(tmp_path))
        await store.close()

    asyncio.run(run())


def test_opening_the_file_after_a_crash_erases_deleted_conversations(tmp_path: Path) -> None:
    word = Planted()
    path = tmp_path / "log.db"

    async def run() -> None:
        await (await _filled(path, word)).close()
        child = (
            sys.executable,
            "-m",
            "tests.stores.helpers.committing_process",
            "delete",
            str(path),
        )
        process = await asyncio.create_subprocess_exec(*child)
        assert await process.wait() == 9
        assert _is_marked(path)
        assert word.found(tmp_path)
        store = await SqliteStore.open(path)
        await _until(lambda: not word.found(tmp_path))
        await store.close()

    asyncio.run(run())


def test_closing_erases_conversations_that_were_just_deleted(tmp_path: Path) -> None:
    word = Planted()

    async def run() -> None:
        store = await _filled(tmp_path / "log.db", word)
        await store.delete("c")
        await store.close()

    asyncio.run(run())
    assert not word.found(tmp_path)


@pytest.mark.parametrize("change", ["replaced", "renamed"])
def test_overwritten_text_is_not_left_in_the_file(tmp_path: Path, change: str) -> None:
    """Holds without a deletion, too: replaced text is gone after a checkpoint of the WAL."""
    word = Planted()

    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db")
        talk = await begin(store)
        for length in (1, 3000, 100, 9000, 1):
            text = " ".join([word(f"{change} {length}"), *["filler"] * length])
            queue = [Waiting(QueueItem("q", [TextContent(text)]), TRACE)]
            more = {"queue": queue} if change == "replaced" else {"title": text}
            state = structs.replace(talk.state, **more)
            await talk.commit(talk.prepare(state=state))
        await talk.commit(talk.prepare(state=structs.replace(talk.state, queue=[], title="")))
        await store.close()

    asyncio.run(run())
    assert not word.found(tmp_path)


def test_many_deletes_are_erased_while_others_write(tmp_path: Path) -> None:
    word = Planted()
    path = tmp_path / "log.db"

    async def run() -> None:
        store = await SqliteStore.open(path)
        await _others(store, 30, "beside")
        talks = [await begin(store, f"gone-{number}") for number in range(12)]
        for number, talk in enumerate(talks):
            await talk.say(f"{word(str(number))} was said")
        writing = asyncio.create_task(_others(store, 60, "busy"))
        for talk in talks:
            await store.delete(talk.id)
        await writing
        await _until(lambda: not word.found(tmp_path))
        assert len(await store.conversations()) == 90
        await store.close()

    asyncio.run(run())
