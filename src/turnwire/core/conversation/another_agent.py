"""Handing over between agents: from its next turn on, another agent speaks in the conversation.

A person may choose the agent at any time. The choice is kept as `next_agent`. Without an open turn,
or when the open turn ends, `HandOver` asks for the end of the agent. `HandedOver` reports it, and
the chosen agent takes over. No turn begins in between.
"""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack, ChangeAgent, HandOver
from turnwire.core.conversation.losing import agent_lost
from turnwire.core.conversation.state import AgentPast, Handover
from turnwire.core.conversation.turns import agent_gone
from turnwire.core.error_codes import Refused

__all__ = ["begin", "chose_agent", "handed_over"]

_REASON = "handed_over"


def chose_agent(d: Draft, choice: i.ChoseAgent) -> None:
    """Keeps the agent for the next turn. The agent that speaks already changes nothing."""
    if not choice.agent:
        raise Refused("INVALID_PAYLOAD", "Name an agent.")
    d.ack = Ack(agent=choice.agent)
    if choice.agent == (d.next_agent or choice.current):
        return
    # During a turn, the agent that speaks takes the earlier choice back. Without a turn the agent
    # is being closed for that choice, and takes over from itself.
    takes_back = choice.agent == choice.current and d.turn is not None
    d.next_agent = None if takes_back else choice.agent
    d.audit("chose_agent", choice.by, agent=choice.agent)


def begin(d: Draft, happened: i.Input) -> None:
    """Asks for the end of the agent if another one was chosen and no turn is open.

    The request is repeated when the agent was lost, because its commands are lost with it.
    """
    if d.next_agent is None or d.turn is not None:
        return
    is_new = d.before.next_agent is None or d.before.turn is not None
    if is_new or isinstance(happened, i.AgentLost | i.Recovered):
        d.commands.append(HandOver())


def handed_over(d: Draft, over: i.HandedOver) -> None:
    """Lets the chosen agent speak, after the agent before it was closed.

    That agent may have begun a turn by itself meanwhile, which is lost with it. If the turn asks a
    question, the handover waits for its end.
    """
    if d.turn is not None and d.turn.phase == "starting":
        agent_gone(d, _REASON)  # the turn waits for a new session
    else:
        said, held = "Another agent was chosen.", d.held
        agent_lost(d, i.AgentLost(at=over.at, reason=_REASON, message=said))
        d.held = held
    agent, d.next_agent = d.next_agent, None
    if agent is None or agent == over.agent:
        return
    if d.turn is not None:
        d.next_agent = agent
    elif over.refused is not None:
        data = {"agent": agent, "stays": over.agent, "message": over.refused}
        said = f"{agent} could not take over: {over.refused}"
        d.add_event("system", said, None, {"subtype": "agent_refused", "data": data})
    else:
        _change(d, agent, over)


def _change(d: Draft, agent: str, over: i.HandedOver) -> None:
    now = d.handover or Handover(over.agent, over.agent)
    past = dict(now.past)
    known = past.pop(agent, AgentPast())
    past[over.agent] = AgentPast(
        over.session,
        over.owns_session,
        d.head if now.heard is None else now.heard,
        d.model,
        d.permission_mode,
        d.max_thinking_tokens,
        d.mcp_off,
        d.offered,
    )
    heard = known.seen if known.seen < d.head else None
    d.handover = Handover(agent, now.first, past, heard)
    d.model, d.permission_mode = known.model, known.permission_mode
    d.max_thinking_tokens, d.mcp_off = known.max_thinking_tokens, known.mcp_off
    d.offered = known.offered
    d.init_digest = None  # its settings are new to the log
    d.options = structs.replace(d.options, questions_survive=over.questions_survive)
    data = {"agent": agent, "from": over.agent}
    d.add_event("system", f"Agent: {agent}", None, {"subtype": "agent", "data": data})
    d.writes.append(ChangeAgent(agent, known.session, known.owns_session))
