"""Writes the lines of an exported conversation into a store."""

from __future__ import annotations

import time

from msgspec import convert, structs

from turnwire.cli.imported_requests import LeftOpen
from turnwire.core.conversation.effects import AddEntry, EndTurn, Write
from turnwire.core.conversation.state import Conversation, Handover, Options
from turnwire.core.message import BlobRef
from turnwire.core.pictures import true_type
from turnwire.core.times import iso
from turnwire.engine.export.import_limits import without_powers
from turnwire.engine.export.jsonl import (
    BlobLine,
    EndLine,
    EntryLine,
    HeadLine,
    Line,
    TurnLine,
    entry_of,
)
from turnwire.ports import AgentCapabilities, Claim, Commit, NewConversation, Store, StoredEntry
from turnwire.stores.blob_refs import with_true_refs

__all__ = ["Restorer"]

_BATCH = 50  # writes per commit: meanwhile a server on the same database cannot commit
_LEASE = 600_000  # milliseconds; long, because no other process knows the new id yet


class Restorer:
    """An import in progress, created with `begin`. The last line releases the conversation."""

    def __init__(
        self, store: Store, claim: Claim, head: HeadLine, state: Conversation, reset: list[str]
    ) -> None:
        self._store = store
        self._claim = claim
        self._told = head
        self._state = state
        self._writes: list[Write] = []
        self._open = LeftOpen()
        self._blobs: dict[str, BlobRef] = {}  # the blobs of the file, as the store has them
        self._turns = 0  # ended turns
        self._has_several = False  # several agents spoke
        self.head = 0  # the number of the last entry
        self.reset = reset  # the names of settings that were not kept

    @classmethod
    async def begin(
        cls,
        store: Store,
        name: str,
        told: HeadLine,
        able: AgentCapabilities,
        cwd: str | None = None,
    ) -> Restorer:
        """Creates a conversation without entries. Raises ValueError if its settings are invalid.

        `able` has the capabilities of the agent on this machine. `cwd` is the directory of --cwd: the
        directory in the file is not kept, nor is anything else that grants permissions.
        """
        head, reset = without_powers(told, able)
        state = Conversation(
            name,
            convert(head.rules, Options),
            title=head.title,
            max_thinking_tokens=head.max_thinking_tokens,
            mcp_off=head.mcp_off,
        )
        new = NewConversation(
            name, head.agent, head.created_at, None, head.title, cwd, None, None, head.options
        )
        await store.create(structs.replace(new, state=state))
        now = time.time_ns() // 1_000_000
        claim = await store.claim(name, f"import:{name}", now=now, lease=_LEASE)
        return cls(store, claim, head, state, reset)

    async def take(self, line: Line) -> bool:
        """Takes the next line. Returns whether it was the last. Raises ValueError if it is wrong."""
        match line:
            case EntryLine(sequence=sequence):
                if sequence != self.head + 1:
                    raise ValueError(f"entry {self.head + 1} is missing")
                await self._add(entry_of(line))
            case TurnLine():
                await self._end_turn(line)
            case BlobLine():
                at = iso(time.time_ns() // 1_000_000)  # now: an old, unused blob may be removed
                mime_type = true_type(line.mime_type, line.data) or "application/octet-stream"
                await self._store.put_blob(line.blob_id, line.data, mime_type, at=at)
                found = await self._store.blob(line.blob_id)
                if found is not None:
                    self._blobs[line.blob_id] = BlobRef(found.blob_id, found.mime_type, found.size)
            case EndLine():
                if (line.entries, line.turns) != (self.head, self._turns):
                    told = f"{line.entries} entries and {line.turns} ends of turns"
                    raise ValueError(f"the file has {self.head} and {self._turns}, not {told}")
                await self._finish()
                return True
            case _:
                raise ValueError("a line of this kind cannot be here")
        return False

    async def _add(self, stored: StoredEntry) -> None:
        """Adds the next entry. Its run id is renamed after the new conversation.

        The entry may refer only to blobs of its file. A blob that the file lacks is marked as lost.
        """
        entry = with_true_refs(stored.entry, self._blobs.get)
        old = f"{self._told.conversation_id}:"
        if entry.run_id.startswith(old):
            run_id = f"{self._claim.conversation_id}:{entry.run_id.removeprefix(old)}"
            entry = structs.replace(entry, run_id=run_id)
        match entry.meta:
            case {"messageType": "system", "data": {"subtype": "agent"}}:
                self._has_several = True
        write = AddEntry(stored.sequence, entry, stored.turn_id, stored.trace_id)
        self._writes += [write, *self._open.entry(stored)]
        self.head = stored.sequence
        turns = max(self._state.turns, stored.turn_id or 0)
        self._state = structs.replace(self._state, head=self.head, turns=turns)
        if len(self._writes) >= _BATCH:
            await self._commit(self._told.updated_at)

    async def _end_turn(self, line: TurnLine) -> None:
        """Adds the end of a turn."""
        self._open.end(line.turn_id, line.end.after_sequence, self.head)
        self._turns += 1
        self._writes.append(EndTurn(line.turn_id, line.trace_id, line.end))
        end = line.end
        self._state = structs.replace(
            self._state,
            turns=max(self._state.turns, line.turn_id),
            last_turn=end,
            last_turn_id=line.turn_id,
            state="interrupted" if end.interrupted else "error" if end.is_error else "active",
        )
        await self._commit(line.ended_at)

    async def _finish(self) -> None:
        """Ends the turns, tools and requests that are open, and releases the conversation."""
        self._state = structs.replace(self._state, totals=self._told.totals)
        if self._has_several:  # no agent has a session here: the next one is told everything
            agent = self._told.agent
            handover = Handover(agent, agent, heard=0)
            self._state = structs.replace(self._state, handover=handover)
        now = time.time_ns() // 1_000_000
        closed, ends = self._open.closed(self._state, now)
        await self._commit(self._told.updated_at)
        if ends:
            self._state, self.head = closed, closed.head
            self._writes += ends
            await self._commit(iso(now), is_news=False)
        await self._store.release(self._claim)

    async def _commit(self, at: str, *, is_news: bool = True) -> None:
        writes, self._writes = self._writes, []
        await self._store.commit(Commit(self._claim, self._state, writes, at, is_news=is_news))
