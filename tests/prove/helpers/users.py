"""Users of a conversation: clients that come and go, and people who retry.

Users remember only the journal. After a crash they repeat all commands with the
same ids, like clients that do not know the result of their requests. Among several nodes
they also reconnect and repeat when another node takes over.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw

from tests.engine.helpers.reconnecting_client import number_of
from tests.prove.helpers.day_store import Rows
from tests.prove.helpers.journal import Asked, Came, Got, Journal, Lines, Satisfied, Told, load
from turnwire.core.controls import McpReconnect
from turnwire.core.error_codes import Refused
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import decode, encode
from turnwire.engine import Answer, Talk
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.errors import TurnwireError
from turnwire.ports import Owned, StorageUnavailable

PATIENCE = 30.0 * load()  # seconds; only a broken server lets a client wait that long


_T = TypeVar("_T")


async def patiently(call: Callable[[], Awaitable[_T]]) -> _T:
    """Calls again while the database is away."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await call()
        except StorageUnavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


class Screen:
    """Follows one conversation over any number of connections, and records its frames."""

    def __init__(
        self,
        name: str,
        talk: Talk,
        rows: Rows,
        journal: Journal,
        before: list[Lines],
        *,
        reconnects: bool = False,
    ) -> None:
        self.name = name
        self._reconnects = reconnects
        self.status: Status | None = None
        self.ended: set[int] = set()  # turns
        self.grew: set[int] = set()  # turns of which something was seen
        # Turns that have begun, messages that have waited, and the names of those in the log.
        self.known: set[int | str] = set()
        self.resolved: dict[str, str] = {}  # by request: its kind
        self.cursor = 0
        self.epoch: str | None = None
        self._talk = talk
        self._journal = journal
        self._connection = 0
        self._task: asyncio.Task[None] | None = None
        self._more = asyncio.Event()
        self._kinds: dict[str, str] = {}
        self._rows = rows
        for line in before:
            if isinstance(line, Came) and line.client == name:
                self._connection = line.connection
            elif isinstance(line, Got) and line.client == name:
                self._apply(decode(bytes(line.frame)))  # type: ignore[arg-type]  # ours are known
        self.status = None

    # --- connections ----------------------------------------------------------------------------

    async def come(self, *, last_sequence: int | None = None, epoch: str | None = None) -> None:
        """Connect from where it was, or from somewhere else; until the state is known."""
        self.status = None
        place = last_sequence or self.cursor or None
        self._task = asyncio.create_task(self._follow(place, epoch or self.epoch))
        await self.until(lambda: self.status is not None, "a state")

    async def leave(self) -> None:
        """The connection is lost."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _follow(self, last_sequence: int | None, epoch: str | None) -> None:
        if not self._reconnects:
            await self._follow_once(last_sequence, epoch)
            return
        while True:
            try:
                await self._follow_once(last_sequence, epoch)
            except (FollowAgain, StorageUnavailable, Refused) as ended:
                if isinstance(ended, Refused) and ended.code != "STORAGE_UNAVAILABLE":
                    raise
            await asyncio.sleep(0.02)
            last_sequence, epoch = self.cursor or None, self.epoch

    async def _follow_once(self, last_sequence: int | None, epoch: str | None) -> None:
        self._connection += 1
        came = Came(
            client=self.name,
            talk=self._talk.id,
            connection=self._connection,
            last_sequence=last_sequence,
            epoch=epoch,
            server=os.getpid(),
        )
        self._journal.write(came)
        following = self._talk.follow(last_sequence=last_sequence, epoch=epoch)
        try:
            async with aclosing(following):
                async for frame in following:
                    self._receive(frame)
                    self._more.set()
        finally:
            self._more.set()

    def _receive(self, frame: f.Frame) -> None:
        number = number_of(frame)
        on_disk = None
        if number is not None and not isinstance(frame, f.MessageReplay):
            query = "SELECT 1 FROM messages WHERE conversation_id = ? AND sequence_num = ?"
            on_disk = bool(self._rows.read(query, self._talk.id, number))
        assert frame.sequence is not None
        raw = Raw(encode(frame).at(frame.sequence))
        got = Got(client=self.name, connection=self._connection, frame=raw, on_disk=on_disk)
        self._journal.write(got)
        self._apply(frame)

    def _apply(self, frame: f.Frame) -> None:
        self.cursor = number_of(frame) or self.cursor
        if isinstance(frame, f.SessionConnected | f.SessionResumed):
            self.epoch = frame.payload.epoch
        elif isinstance(frame, f.SessionReset):
            self.cursor = 0
        event: Any = frame.payload.event if isinstance(frame, f.MessageReplay) else frame
        if event.turn_id is not None:
            self.known.add(event.turn_id)
        match event:
            case f.SessionState(payload=status):
                self.status = status
                self.known |= {item.queue_id for item in status.queue}
            case f.UserMessage(payload=said) if said.client_message_id is not None:
                self.known.add(said.client_message_id)
            case f.AssistantComplete(turn_id=int(turn_id)):
                self.ended.add(turn_id)
            case (
                f.AssistantChunk(turn_id=int(turn_id))
                | f.AssistantToolProgress(turn_id=int(turn_id))
            ):
                self.grew.add(turn_id)
            case f.AssistantRequestInput(payload=payload):
                self._kinds[payload.question_id] = "question"
            case f.AssistantPermissionRequest(payload=payload):
                self._kinds[payload.request_id] = "permission"
            case f.AssistantRequestResolved(payload=payload):
                request_id = payload.request_id
                self.resolved[request_id] = self._kinds.get(request_id, "question")
            case _:
                pass

    async def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait until something was seen."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not happened():
                    if self._task is None or self._task.done():
                        raise AssertionError(f"{self.name} waits for {what} and follows no more")
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"{self.name} waits for {what} in vain: {self.status}") from None

    async def has_everything(self) -> None:
        """Waits until the client has the whole log and its last state."""
        store = self._talk._engine.store
        row = await patiently(partial(store.conversation, self._talk.id))
        assert row is not None
        await self.until(lambda: self.cursor >= row.head, f"number {row.head}")
        self._journal.write(Satisfied(client=self.name, talk=self._talk.id, head=row.head))


class Person:
    """Repeats a command until it is answered."""

    def __init__(
        self, talk: Talk, screen: Screen, journal: Journal, *, repeats: bool = False
    ) -> None:
        """`repeats`: also what a node refused because it has just lost the conversation."""
        self.talk = talk
        self._repeats = repeats
        self.screen = screen
        self._journal = journal
        self._clock = talk._engine.clock

    async def ask(
        self, kind: str, name: str, about: Any, what: Callable[[], Awaitable[Answer]]
    ) -> Answer | None:
        """None: it was refused."""
        talk = self.talk.id
        self._journal.write(Asked(talk=talk, kind=kind, name=name, about=about))
        while True:
            try:
                answer = await what()
            except (Owned, StorageUnavailable) as later:  # its owner is gone, and has a lease
                await self._a_while(later)
                continue
            except TurnwireError as refused:
                if self._repeats and refused.code == "STORAGE_UNAVAILABLE":
                    await self._a_while(refused)
                    continue
                told = Told(talk=talk, kind=kind, name=name, about=about, code=refused.code)
                self._journal.write(told)
                return None
            ack = msgspec.to_builtins(answer.ack)
            self._journal.write(
                Told(
                    talk=talk,
                    kind=kind,
                    name=name,
                    about=about,
                    ack=ack,
                    duplicate=answer.duplicate,
                )
            )
            return answer

    async def _a_while(self, owned: TurnwireError) -> None:
        free = asyncio.Event()
        now = self._clock.now()
        self._clock.call_at(owned.data.get("lease_until", now + 50), free.set)
        await free.wait()

    # --- commands -------------------------------------------------------------------------------

    async def say(self, name: str, text: str, *, steer: bool = False) -> Answer | None:
        """Sends a message, and waits until it runs or is queued."""
        answer = await self.ask(
            "send",
            name,
            text,
            lambda: self.talk.send(text, steer=steer, user="ann", client_message_id=name),
        )
        if answer is not None and not answer.duplicate:
            what = answer.ack.turn_id or answer.ack.queue_id
            # Who is behind sees only the newest state: there the message may run already.
            await self.screen.until(lambda: bool({what, name} & self.screen.known), name)
        return answer

    async def stop(
        self, name: str, said: Answer | None, queue: Literal["hold", "continue", "clear"] = "hold"
    ) -> None:
        """Stop the turn of a message as soon as something of it was seen, unless it has ended."""
        turn = said.ack.turn_id if said else None
        if turn is None:
            return
        seen = self.screen
        await seen.until(lambda: turn in seen.grew or turn in seen.ended or is_at_rest(seen), name)
        if turn not in seen.ended and not is_at_rest(seen):
            await self.ask(
                "stop",
                name,
                turn,
                lambda: self.talk.interrupt(turn, queue=queue, user="ann", client_message_id=name),
            )

    async def change(self, name: str, action: Any, queue_id: str | None, **how: Any) -> None:
        await self.ask(
            "queue",
            name,
            [action, queue_id, how],
            lambda: self.talk.change_queue(
                action, queue_id, user="ann", client_message_id=name, **how
            ),
        )

    async def choose(self, name: str, model: str) -> None:
        """Go on with another model."""
        await self.ask(
            "choose",
            name,
            model,
            lambda: self.talk.set_model(model, user="ann", client_message_id=name),
        )

    async def control(self, name: str) -> None:
        """Sends a control to the agent."""
        asked = McpReconnect("files")
        await self.ask(
            "control",
            name,
            "files",
            lambda: self.talk.control(asked, user="ann", client_message_id=name),
        )

    async def answer(self, request_id: str, kind: str, name: str) -> None:
        if kind == "question":
            await self.ask(
                "answer",
                name,
                request_id,
                lambda: self.talk.answer(request_id, "Blue", user="ann", client_message_id=name),
            )
        else:
            await self.ask(
                "decide",
                name,
                request_id,
                lambda: self.talk.decide(request_id, "allow", user="ann", client_message_id=name),
            )

    async def rest(self) -> None:
        """Waits until nothing runs: answers every request and continues every held queue."""
        seen = self.screen
        while True:
            await seen.until(lambda: is_at_rest(seen), "rest")
            status = seen.status
            assert status is not None
            if status.requests:
                for request in status.requests:
                    request_id = request.request_id
                    await self.answer(request_id, request.kind, f"answer {request_id}")
                    await seen.until(partial(is_resolved, seen, request_id), "its end")
            elif status.queue or status.turn_id is not None:
                await self.change(f"resume {uuid.uuid4().hex}", "resume", None)
                await seen.until(partial(has_changed, seen, status), "a queue that goes on")
            else:
                return

    async def too_late(self) -> None:
        """Answers a resolved request once more."""
        for request_id, kind in self.screen.resolved.items():
            await self.answer(request_id, kind, f"late {request_id}")


def is_resolved(seen: Screen, request_id: str) -> bool:
    """Returns whether a request has ended."""
    return request_id in seen.resolved


def has_changed(seen: Screen, before: Status) -> bool:
    """Returns whether the state has changed."""
    return seen.status != before


def is_at_rest(seen: Screen) -> bool:
    """Returns whether a conversation waits for a person's action."""
    status = seen.status
    if status is None or status.background_tasks:
        return False
    if status.requests:
        return True
    if status.turn_id is not None:  # one that its agent never heard of waits after a crash
        return not status.running
    return status.queue_held or not status.queue
