"""Checks the queue: its messages, their order, and the turns that they start."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from turnwire.core.content import Content
from turnwire.core.status import Status, TurnEnd
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.validator.connection import Say
from turnwire.dialects.v2.validator.content import same_content

__all__ = ["QueueCheck", "Waiting"]

# After these reasons a held queue may resume by itself.
_FALLS = ("server_restart", "server_stopped", "archived", "deleted")


class Waiting(Struct, frozen=True, gc=False):
    """A queued message."""

    queue_id: str
    client_message_id: str | None
    content: str | Sequence[Content]
    created_at: str = ""  # empty: unknown


class QueueCheck:
    """The queue, as acks and session.state report it."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.items: list[Waiting] = []
        self.held = False
        self._seen: set[str] = set()
        self._gone: set[str] = set()  # started, removed or cleared: these messages never wait again
        self._receipt: p.Interrupted | None = None  # of the turn that ends next
        self._started: Waiting | None = None  # the last message that left the queue to start a turn
        # Messages of other clients and a shutdown of the server are not in the recording:
        self._may_go_on = False
        self._may_be_held = False

    # --- changes ------------------------------------------------------------------------------

    def joined(self, item: Waiting) -> None:
        """Adds an accepted message of this client. A held queue resumes with it."""
        self.items.append(item)
        self._seen.add(item.queue_id)
        self.held = False

    def changed(self, wish: c.QueueChange) -> None:
        """Applies an accepted change of this client."""
        self.items = self.after(wish)
        if wish.action == "remove" and wish.queue_id is not None:
            self._gone.add(wish.queue_id)
        elif wish.action == "resume":
            self.held = False

    def after(self, wish: c.QueueChange) -> list[Waiting]:
        """Returns the queue after a change."""
        item = next((each for each in self.items if each.queue_id == wish.queue_id), None)
        if item is None:
            return self.items
        if wish.action == "replace" and wish.content is not None:
            new = structs.replace(item, content=wish.content)
            return [new if each is item else each for each in self.items]
        rest = [each for each in self.items if each is not item]
        if wish.action == "move":
            places = (n for n, each in enumerate(rest) if each.queue_id == wish.before)
            rest.insert(next(places, len(rest)), item)
        return rest

    def started(self, start: p.TurnStart) -> None:
        """turn.started: checks that the turn takes the first queued message."""
        first = self.items[0] if self.items else None
        self._started = None
        self._may_go_on = start.origin == "resume"
        if start.origin != "user":
            if start.queue_id is not None or start.client_message_id is not None:
                self._say("turn_started_wrongly", f"origin {start.origin} allows no message")
        elif start.queue_id != (first and first.queue_id):
            said = (
                f"{start.queue_id or 'no message'} starts, but {first and first.queue_id} is next"
            )
            self._say("turn_started_wrongly", said)
        elif first is not None and first.client_message_id != start.client_message_id:
            self._say(
                "turn_started_wrongly", f"{first.queue_id} belongs to {first.client_message_id}"
            )
        if start.queue_id is not None:
            self._started = next((i for i in self.items if i.queue_id == start.queue_id), None)
            self.items = [each for each in self.items if each.queue_id != start.queue_id]
            self._gone.add(start.queue_id)
            self.held = False

    def steered(self, queue_id: str) -> None:
        """user.message: takes a message out of the queue that went into the running turn."""
        if queue_id not in self._seen or queue_id in self._gone:
            self._say("wrong_queue", f"{queue_id} went into a turn, but was not in the queue")
        self._started = next((i for i in self.items if i.queue_id == queue_id), None)
        self.items = [each for each in self.items if each.queue_id != queue_id]
        self._gone.add(queue_id)

    def content(self, client_message_id: str) -> str | Sequence[Content] | None:
        """Returns the content of the message that left the queue last, or None."""
        item = self._started
        return item.content if item and item.client_message_id == client_message_id else None

    def interrupted(self, receipt: p.Interrupted) -> None:
        """conversation.interrupted: stores what happens to the queue when the turn ends."""
        self._receipt = receipt

    def hold(self) -> None:
        """Holds the queue: the answer could not be delivered to an agent, so its turn waits."""
        self.held = True

    def ended(self, end: TurnEnd) -> None:
        """Applies the end of the running turn."""
        receipt, self._receipt = self._receipt, None
        fate = receipt.queue if receipt else "hold"
        if receipt is not None and fate == "clear":  # keeps messages queued after the stop
            until = receipt.requested_at
            stay = [item for item in self.items if until and item.created_at >= until]
            self._gone |= {item.queue_id for item in self.items if item not in stay}
            self.items = stay
        if end.is_error or end.interrupted:  # otherwise the queue stays as it is
            self.held = fate == "hold"
            self._may_go_on = receipt is None or receipt.reason in _FALLS
            self._may_be_held = not self.held

    # --- session.state ------------------------------------------------------------------------

    def told(self, status: Status, max_queue: int, *, exact: bool, started: bool) -> None:
        """Compares session.state with the queue; `exact`: only known changes may have happened.

        A message of another client may resume a held queue. That shows only when a turn has
        `started`.
        """
        listed = [each.queue_id for each in status.queue]
        fault = None
        if len(set(listed)) < len(listed) or len(listed) > max_queue:
            fault = f"{len(listed)} messages under {len(set(listed))} ids, at most {max_queue}"
        elif back := [each for each in listed if each in self._gone]:
            fault = f"{', '.join(back)} started or was removed before"
        elif exact:
            fault = self._difference(status, started=started)
        if fault is not None:
            self._say("wrong_queue", fault)
        self.items = [
            Waiting(item.queue_id, item.client_message_id, item.content, item.created_at or "")
            for item in status.queue
        ]
        self._seen.update(listed)
        self.held = status.queue_held
        self._may_go_on = self._may_be_held = False

    def _difference(self, status: Status, *, started: bool) -> str | None:
        told = list(status.queue)
        while started and told and told[-1].queue_id not in self._seen:
            told.pop()
        if [each.queue_id for each in told] != [each.queue_id for each in self.items]:
            due = ", ".join(each.queue_id for each in self.items) or "nothing"
            return (
                f"the queue has {', '.join(each.queue_id for each in told) or 'nothing'}, not {due}"
            )
        for mine, theirs in zip(self.items, told, strict=True):
            if mine.client_message_id != theirs.client_message_id:
                return f"{mine.queue_id} belongs to {mine.client_message_id}"
            if not same_content(mine.content, theirs.content):
                return f"{mine.queue_id} has different content"
        may_be = self._may_be_held if status.queue_held else self._may_go_on
        if told and status.queue_held is not self.held and not may_be:
            return f"queue_held is {str(status.queue_held).lower()}"
        return None
