"""The queue: messages that wait for their turn, and the commands that change them."""

from __future__ import annotations

import msgspec
from msgspec import structs

from turnwire.core.content import Content, TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.budget import check_budgets
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack
from turnwire.core.conversation.state import Waiting
from turnwire.core.conversation.steering import steer
from turnwire.core.conversation.turns import wake
from turnwire.core.error_codes import Refused
from turnwire.core.status import QueueItem

__all__ = ["changed_queue", "said"]

_TITLE = 80  # characters of the first message
_LOOKED_AT = 1000  # characters of the first message that are searched for its first line
# Size of all queued messages as JSON. Every status update contains all of them.
_MOST_BYTES = 1 << 21
_encode = msgspec.json.Encoder().encode


def said(d: Draft, said: i.Said) -> None:
    """Starts a turn with a message, queues it, or hands it to the running turn.

    A message also releases a held queue.
    """
    _check_content(said.content)
    check_budgets(d.before, said.budget)
    limit = d.options.max_queue
    if len(d.queue) - (d.turn is None) >= limit:  # without a turn the first one starts
        raise Refused(
            "TURN_QUEUE_FULL", f"{limit} messages wait already (max_queue).", max_queue=limit
        )
    _check_room(d, d.queue, said.content)
    item = QueueItem(said.queue_id, said.content, said.client_message_id, said.by, d.now)
    d.title = d.title or _title(said.content)
    d.audit("said", said.by, queue_id=said.queue_id)
    was_held = _release(d)
    waiting = Waiting(item, said.trace_id)
    d.queue.append(waiting)
    wake(d, anyway=True)
    d.begin_next()
    if d.turn is not None and d.turn.item == item:
        d.ack = Ack(turn_id=d.turn.turn_id)
    elif said.steer and d.turn is not None and steer(d, waiting):
        d.ack = Ack(turn_id=d.turn.turn_id, queue_id=said.queue_id)
    else:
        d.ack = Ack(queue_id=said.queue_id, held=was_held)


def _release(d: Draft) -> bool:
    """Releases a held queue, or one that a stopping turn would hold.

    Returns whether it was held.
    """
    was_held, d.held = d.held, False
    turn = d.turn
    if turn is not None and turn.stopping is not None and turn.stopping.queue == "hold":
        was_held = was_held or bool(d.queue)
        d.turn = structs.replace(turn, stopping=structs.replace(turn.stopping, queue="continue"))
    return was_held


def _check_content(content: list[Content]) -> None:
    if not any(not isinstance(part, TextContent) or part.text.strip() for part in content):
        raise Refused("INVALID_PAYLOAD", "The message is empty.")


def _check_room(d: Draft, waiting: list[Waiting], new: list[Content]) -> None:
    """Raises Refused if the queued messages would be too large together. One may always wait."""
    contents = [each.item.content for each in waiting]
    if waiting and sum(len(_encode(each)) for each in [*contents, new]) > _MOST_BYTES:
        said = f"The messages that wait may have {_MOST_BYTES} bytes together."
        limit = d.options.max_queue
        raise Refused("TURN_QUEUE_FULL", said, max_queue=limit, max_queue_bytes=_MOST_BYTES)


def _title(content: list[Content]) -> str | None:
    words = "\n".join(part.text for part in content if isinstance(part, TextContent))
    start = words.lstrip()[:_LOOKED_AT]
    line = next((line.strip() for line in start.splitlines() if line.strip()), None)
    if line is None or len(line) <= _TITLE:
        return line
    cut = line[: _TITLE - 1]
    between_words = cut.rfind(" ", _TITLE // 2)
    return (cut if between_words < 0 else cut[:between_words]) + "…"


def changed_queue(d: Draft, change: i.ChangedQueue) -> None:
    """Removes, replaces or moves a queued message, or releases a held queue."""
    d.ack = Ack(queue_id=change.queue_id)
    if change.action == "resume":
        d.audit("queue_resume", change.by)
        _release(d)
        wake(d, anyway=True)
        return
    place = _place(d, change.queue_id)
    waiting = d.queue[place]
    if waiting.item.steers is not None and change.action in ("remove", "replace"):
        said = "The message is on its way into the running turn."
        raise Refused("INVALID_PAYLOAD", said)
    if change.action == "remove":
        del d.queue[place]
        d.held = d.held and bool(d.queue)
    elif change.action == "replace":
        _check_content(change.content or [])
        _check_room(d, d.queue[:place] + d.queue[place + 1 :], change.content or [])
        item = structs.replace(waiting.item, content=change.content)
        d.queue[place] = structs.replace(waiting, item=item, in_doubt=False)
    elif change.action == "move":
        target = len(d.queue)
        if change.before is not None:
            target = _place(d, change.before)
        d.queue.insert(target, waiting)
        del d.queue[place + (target <= place)]
    else:
        raise Refused("INVALID_PAYLOAD", f"The queue has no action {change.action!r}.")
    d.audit(f"queue_{change.action}", change.by, queue_id=change.queue_id)


def _place(d: Draft, queue_id: str | None) -> int:
    for place, waiting in enumerate(d.queue):
        if waiting.item.queue_id == queue_id:
            return place
    raise Refused("QUEUE_ITEM_NOT_FOUND", queue_id=queue_id)
