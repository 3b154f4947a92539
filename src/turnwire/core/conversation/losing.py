"""Handles the loss of an agent or of the server: ends, suspends or resumes the open turn."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.agent import agent_said
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.requests import questions_of_turn
from turnwire.core.conversation.state import Reply, Turn
from turnwire.core.conversation.turns import (
    agent_gone,
    finish_turn,
    hand_over,
    is_suspended,
    stopped_end,
    suspend_turn,
    wake,
)
from turnwire.core.entries import EntryStream
from turnwire.core.partials import Partial, cut_short
from turnwire.core.status import TurnEnd, TurnError

__all__ = ["agent_lost", "recovered"]

# The message of a turn's end if the server did not cause it.
_CLOSED = {
    "archived": "The conversation was archived.",
    "deleted": "The conversation was deleted.",
}


def agent_lost(d: Draft, gone: i.AgentLost) -> None:
    """Ends, suspends or hands over the turn of an agent whose process has ended.

    A question stays open, because it can still be answered. An answer that the agent died with is
    given to another agent once, because the answer may be the cause. After a second loss the turn
    waits until a person asks for another try.
    """
    if gone.unsent:
        _take_back(d)
    agent_gone(d, gone.reason)
    turn = d.turn
    if turn is None or is_suspended(d):
        return
    if turn.phase == "starting" and (gone.forced or gone.unsent):
        hand_over(d, turn)  # the lost agent worked on an earlier turn
    elif _goes_on(turn) and _is_given_up(d, turn):
        _wait_for_a_person(d, gone)
    elif _goes_on(turn) and turn.phase != "starting" and (questions_of_turn(d) or _own(d, turn)):
        died_with = [reply.request_id for reply in d.replies]
        d.turn = structs.replace(turn, died_with=died_with)
        suspend_turn(d, gone.reason)
        wake(d)
    else:
        end = _end(turn, gone.reason, gone.message or "The agent's process is gone.")
        if turn.phase == "starting":
            said = gone.message or "The agent could not be started."
            end = TurnEnd(True, False, error=TurnError("AGENT_UNAVAILABLE", said))
        finish_turn(
            d,
            end,
            gone=gone.reason,
            forced=gone.forced,
            lost=not gone.forced and gone.reason == "agent_lost",
            processes=gone.processes,
        )


def _take_back(d: Draft) -> None:
    """Resets a turn that seemed to have started: the signs belonged to an earlier turn."""
    turn = d.turn
    if turn is not None and turn.phase == "running" and turn.stopping is None:
        d.turn = structs.replace(turn, phase="starting", ending=None, meanwhile=None)


def _is_given_up(d: Draft, turn: Turn) -> bool:
    """Returns whether no agent could start to take the answers, or a second one died with them."""
    if turn.phase == "starting":
        return turn.origin == "resume"
    answers = {reply.request_id for reply in _own(d, turn)}
    return bool(answers) and answers <= set(turn.died_with) and not questions_of_turn(d)


def _own(d: Draft, turn: Turn) -> list[Reply]:
    """Returns the answers that the turn resumes with, without those left for a prompt."""
    return [reply for reply in d.replies if turn.origin == "resume" or not reply.in_words]


def _wait_for_a_person(d: Draft, gone: i.AgentLost) -> None:
    """Keeps an answer that no agent could take; the next message delivers it to a new agent."""
    turn = d.turn
    assert turn is not None
    said = gone.message or "The agent could not be started."
    data = {"code": "AGENT_UNAVAILABLE", "message": said}
    d.add_event("system", said, turn.turn_id, {"subtype": "agent_unavailable", "data": data})
    suspend_turn(d, gone.reason)
    d.replies = [structs.replace(reply, wake=False) for reply in d.replies]
    d.held = bool(d.queue)


def recovered(d: Draft, back: i.Recovered) -> None:
    """Recovers a conversation after a restart.

    A turn that the agent never received waits; other turns end, unless they wait for an answer.

    An archived conversation starts no turn, neither now nor when it is unarchived. So a turn that
    the agent never received ends too, the queue is held, and an answer waits for a person.
    """
    _keep(d, back.partials)
    agent_gone(d, back.reason)
    turn = d.turn
    held = d.held
    starts = turn is not None and turn.phase == "starting" and turn.origin == "user"
    if turn is not None and back.archived and turn.unheard:
        _end_here(d, turn, back)
    elif turn is not None and starts and not back.archived:
        d.turn = structs.replace(turn, phase="suspended", unheard=True, meanwhile=None)
        d.move("turn_suspended", back.reason)
    elif turn is not None and not is_suspended(d):
        if _goes_on(turn) and (questions_of_turn(d) or _own(d, turn)):
            suspend_turn(d, back.reason)
        else:
            _end_here(d, turn, back)
            # The failed turn does not hold the queue: a restart has its own rule, below.
            held = d.held if turn.stopping else held
    unheard = d.turn is not None and d.turn.unheard
    stays = d.options.on_disconnect == "converge" or back.archived
    if d.turn is None or unheard:
        held = held or stays
    elif back.archived and not questions_of_turn(d):
        held = True
        d.replies = [structs.replace(reply, wake=False) for reply in d.replies]
    d.held = held and bool(d.queue)
    if not back.stopping:  # an answer of a person must not be lost
        wake(d, anyway=unheard and not stays)


def _end_here(d: Draft, turn: Turn, back: i.Recovered) -> None:
    said = _CLOSED.get(back.reason, "The server stopped.")
    finish_turn(d, _end(turn, back.reason, said), gone=back.reason)


def _keep(d: Draft, partials: list[Partial]) -> None:
    """Adds unfinished blocks to the log, as if the agent had been stopped at that point."""
    entries = EntryStream()
    for partial in partials:
        event = cut_short(partial)
        said = i.AgentSaid(
            at=d.at,
            event=event,
            entries=entries.feed(event, run_id="", now=d.now),
            last=False,
        )
        agent_said(d, said)


def _goes_on(turn: Turn) -> bool:
    """Returns whether the turn has neither been stopped nor reported its end."""
    return turn.stopping is None and turn.ending is None


def _end(turn: Turn, reason: str, message: str) -> TurnEnd:
    """Returns the end of a turn whose agent has ended, unless one was reported before."""
    if turn.stopping is not None:
        return stopped_end(turn.stopping)
    return turn.ending or TurnEnd(True, True, error=TurnError(reason, message))
