"""Messages for the running turn: handed to the agent, taken by it, or left in the queue.

Until the agent has taken such a message it waits in the queue, so that it cannot be lost. The
agent's own event says that it was taken: then it leaves the queue and enters the log, in one step.
"""

from __future__ import annotations

from msgspec import structs

from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Steer
from turnwire.core.conversation.state import Waiting

__all__ = ["is_taken", "may_be_known", "not_taken", "stays_queued", "steer"]


def steer(d: Draft, waiting: Waiting) -> bool:
    """Hands the queued message to the running turn. Returns False if no turn can take it."""
    turn = d.turn
    if turn is None or turn.phase not in ("starting", "running"):
        return False
    if turn.stopping is not None or turn.ending is not None:
        return False
    item = structs.replace(waiting.item, steers=turn.turn_id)
    d.queue[d.queue.index(waiting)] = structs.replace(waiting, item=item)
    d.commands.append(Steer(turn.turn_id, item))
    return True


def is_taken(d: Draft, said: ev.UserMessage) -> None:
    """Moves a message from the queue into the log: the agent has taken it into the turn."""
    if d.turn is None or said.message_id is None:
        return
    for waiting in d.queue:
        item = waiting.item
        if item.queue_id == said.message_id and item.steers == d.turn.turn_id:
            d.queue.remove(waiting)
            d.audit("steered", item.by, queue_id=item.queue_id, turn_id=d.turn.turn_id)
            d.add_message(item, d.turn.turn_id, steered_as=item.queue_id)
            return


def not_taken(d: Draft, refused: i.SteerRefused) -> None:
    """Leaves a message in the queue that the agent has refused: it waits for its own turn."""
    stays_queued(d, refused.queue_id)


def stays_queued(d: Draft, queue_id: str | None = None) -> None:
    """Unmarks a message, or all of them: the agent did not take it, and will not."""
    for place, waiting in enumerate(d.queue):
        item = waiting.item
        if item.steers is not None and queue_id in (None, item.queue_id):
            d.queue[place] = structs.replace(waiting, item=structs.replace(item, steers=None))


def may_be_known(d: Draft) -> None:
    """Unmarks all messages because the agent has ended: it may have taken them unnoticed.

    The next agent session is asked about each of them, when its own turn begins.
    """
    for place, waiting in enumerate(d.queue):
        if waiting.item.steers is not None:
            item = structs.replace(waiting.item, steers=None)
            d.queue[place] = structs.replace(waiting, item=item, in_doubt=True)
