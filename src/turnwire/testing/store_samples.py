"""Sample entries, requests and commits for the checks of a store."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.effects import AddEntry, Write
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import (
    BlobRef,
    Message,
    MessagePart,
    Role,
    TextPart,
    TextPayload,
    ToolCallPart,
    ToolCallPayload,
    meta_of,
    run_id,
)
from turnwire.core.status import OpenRequest, RequestKind
from turnwire.core.times import iso
from turnwire.ports import Claim, Commit, NewConversation, Receipt, Store

__all__ = [
    "NOW",
    "Writing",
    "a_large_message",
    "a_message",
    "a_question",
    "a_request",
    "at",
    "begin",
]

NOW = 1_767_268_800_000  # 2026-01-01T12:00:00Z
LEASE = 30_000
TRACE = "0af7651916cd43dd8448eb211c80319c"


def at(seconds: int = 0) -> str:
    """Returns the time this many seconds after NOW."""
    return iso(NOW + seconds * 1000)


def a_message(text: str, role: Role = "assistant", *, run: str = "c:1") -> Message:
    """Returns an entry with one text."""
    parts: list[MessagePart] = [TextPart(TextPayload(text))]
    return Message(run, role, parts, at(), meta_of(run))


def a_large_message(blob_id: str, *, run: str = "c:1") -> Message:
    """Returns an entry whose full text is in a blob."""
    ref = BlobRef(blob_id, "text/plain", len(blob_id))
    return Message(run, "assistant", [TextPart(TextPayload("...", blob=ref))], at(), meta_of(run))


def a_question(question: str, options: list[str], *, run: str = "c:1") -> Message:
    """Returns an entry in which the agent asks a question."""
    asked = {"question": question, "options": options}
    call = ToolCallPart(ToolCallPayload("toolu_1", "request_input", asked))
    return Message(run, "assistant", [call], at(), meta_of(run))


def a_request(request_id: str = "toolu_1", kind: RequestKind = "question") -> OpenRequest:
    """Returns an open request."""
    return OpenRequest(
        request_id, kind, request_id, "AskUserQuestion", {"question": "Which?"}, 1, 1, "inbox-1"
    )


class Writing:
    """Writes to a conversation as its owner: each commit follows the previous one."""

    def __init__(self, store: Store, claim: Claim, state: Conversation) -> None:
        self.store = store
        self.claim = claim
        self.state = state

    @property
    def id(self) -> str:
        return self.state.conversation_id

    def entries(self, *texts: str) -> list[Write]:
        """Returns entries that continue the log."""
        run = run_id(self.id, 1)
        first = self.state.head + 1
        return [
            AddEntry(number, a_message(text, run=run), 1, TRACE)
            for number, text in enumerate(texts, first)
        ]

    def prepare(
        self,
        *writes: Write,
        state: Conversation | None = None,
        receipt: Receipt | None = None,
        native_session_id: str | None = None,
        seconds: int = 1,
    ) -> Commit:
        """Returns a commit of these writes without committing it."""
        added = sum(isinstance(write, AddEntry) for write in writes)
        after = structs.replace(state or self.state, head=self.state.head + added)
        return Commit(self.claim, after, [*writes], at(seconds), receipt, native_session_id)

    async def commit(self, commit: Commit) -> None:
        """Commits and keeps the new state."""
        await self.store.commit(commit)
        self.state = commit.state

    async def say(self, *texts: str) -> None:
        """Commits entries with these texts together."""
        await self.commit(self.prepare(*self.entries(*texts)))


async def begin(
    store: Store,
    name: str = "c",
    *,
    owner: str = "one",
    user: str | None = None,
    title: str | None = None,
) -> Writing:
    """Creates a conversation and claims it."""
    row = await store.create(NewConversation(name, "demo", at(), user, title))
    claim = await store.claim(name, owner, now=NOW, lease=LEASE)
    return Writing(store, claim, row.state)
