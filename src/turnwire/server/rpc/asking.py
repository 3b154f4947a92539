"""Carries out the calls and replies of an RPC client, as commands of protocol v2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from turnwire.core.controls import AgentControl
from turnwire.core.error_codes import Refused
from turnwire.core.status import Capabilities
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.v2 import commands as c
from turnwire.engine import Answer, Talk
from turnwire.server.access.keys import Who
from turnwire.server.new_conversation import options_for
from turnwire.server.sockets.commands import carry_out, put_back

if TYPE_CHECKING:
    from turnwire.server.rpc.connection import RpcConnection
    from turnwire.server.rpc.stay import Stay
    from turnwire.server.service import Service

__all__ = ["ask", "capabilities", "do", "take_reply", "takes_long"]

# The command that an agent has to support for a method. The other methods need `user.message`.
_NEEDS = {
    "forgetRule": "session.forget_rule",
    "setAgent": "session.set_agent",
    "setModel": "session.set_model",
    "setPermissionMode": "session.set_permission_mode",
    "setMaxThinkingTokens": "session.set_max_thinking_tokens",
    "rewindFiles": "user.rewind",
}
_NEEDS_CONTROL = {
    "getMcpStatus": "mcp_status",
    "reconnectMcp": "mcp_reconnect",
    "toggleMcp": "mcp_toggle",
    "stopTask": "stop_task",
    "getContextUsage": "context_usage",
    "getModels": "models",
    "getCommands": "commands",
    "getSessionOptions": "session_options",
    "setSessionOption": "set_session_option",
}


def capabilities(
    service: Service, agent: str | None, who: Who, able: Capabilities | None = None
) -> r.Capabilities:
    """Returns the methods and options of this user with an agent; few if the agent is unknown.

    `able`: what the agent can do in one conversation. None: what it can do in any.
    """
    name = agent or service.usual_agent
    known = service.engine.agents.get(name)
    able = able or service.engine.capabilities(name, is_owner=who.is_owner)
    methods = [
        method
        for method in m.METHODS
        if _NEEDS.get(method, "user.message") in able.commands
        and (method not in _NEEDS_CONTROL or _NEEDS_CONTROL[method] in able.controls)
    ]
    options = options_for(known.capabilities, who) if known else []
    return r.Capabilities(
        *(name, methods, able.images, able.models, able.permission_modes, options, able.steer),
        able.files,
        able.session_options,
        able.offers,
    )


async def ask(call: r.Call, stay: Stay, connection: RpcConnection) -> None:
    """Carries out a call, and answers it. Raises Refused."""
    match call.params:
        case m.Query(prompt=prompt) as query:
            await _query(call, query, prompt, stay, connection)
        case m.QueryWithContent(content=content) as query:
            await _query(call, query, [_sent(each) for each in content], stay, connection)
        case m.Interrupt(turn_id=turn_id, queue=queue):
            turn_id = turn_id or (stay.status.turn_id if stay.status else None)
            if turn_id is None:
                connection.answer(call.id, r.Stopped(None, "already_ended"))
                return
            given = await do(c.Interrupt(payload=c.Stop(turn_id, queue)), stay, connection)
            outcome = "already_ended" if given.ack.outcome == "already_ended" else "requested"
            connection.answer(call.id, r.Stopped(turn_id, outcome))  # type: ignore[arg-type]  # one of both
        case m.ForgetRule(rule_id=rule_id):
            await do(c.ForgetRule(payload=c.RuleChoice(rule_id)), stay, connection)
            connection.answer(call.id, {"rule_id": rule_id})
        case m.SetAgent(agent=agent):
            await do(c.SetAgent(payload=c.AgentChoice(agent)), stay, connection)
            connection.answer(call.id, {"agent": agent})
        case m.SetModel(model=model):
            await do(c.SetModel(payload=c.ModelChoice(model)), stay, connection)
            connection.answer(call.id, {"model": model})
        case m.SetPermissionMode(mode=mode):
            await do(c.SetPermissionMode(payload=c.PermissionModeChoice(mode)), stay, connection)
            connection.answer(call.id, {"mode": mode})
        case m.SetMaxThinkingTokens(max_thinking_tokens=most):
            choice = c.ThinkingChoice(most)
            await do(c.SetMaxThinkingTokens(payload=choice), stay, connection)
            connection.answer(call.id, {"max_thinking_tokens": most})
        case m.RewindFiles(sequence=number, dry_run=dry_run):
            given = await do(c.Rewind(payload=c.RewindTo(number, dry_run)), stay, connection)
            connection.answer(call.id, put_back(given))
        case _:
            given = await do(c.ControlCommand(payload=_control(call)), stay, connection)
            connection.answer(call.id, given.ack.result)


def takes_long(call: r.Call) -> bool:
    """Returns whether the call waits for the agent, which may take long."""
    return call.method == "rewindFiles" or call.method in _NEEDS_CONTROL


def _control(call: r.Call) -> AgentControl:
    """Returns the control of protocol v2 for a call."""
    given = {"control": _NEEDS_CONTROL[call.method], **msgspec.to_builtins(call.params)}
    control: AgentControl = msgspec.convert(given, AgentControl)
    return control


async def _query(
    call: r.Call,
    query: m.Query | m.QueryWithContent,
    content: str | list[c.SentContent],
    stay: Stay,
    connection: RpcConnection,
) -> None:
    """Sends a message to the conversation. The call is answered before the turn's first frame."""
    own_id = query.client_message_id

    def accepted(answer: Answer) -> None:
        turn = connection.service.engine.running_turn(stay.talk.id)
        item = turn.item if turn is not None else None
        same = item is not None and own_id is not None and item.client_message_id == own_id
        running = turn.turn_id if turn is not None and same else None
        connection.put(call.id, *stay.accepted(call.id, answer, running))

    said = c.NewMessage(content, query.steer)
    command = c.SendMessage(client_message_id=own_id, payload=said)
    await carry_out(command, stay.talk.telling(accepted), connection.who, connection.service)


async def do(
    command: c.ClientFrame, stay: Stay, connection: RpcConnection, talk: Talk | None = None
) -> Answer:
    """Carries out a command of protocol v2 in the conversation. Raises Refused."""
    return await carry_out(command, talk or stay.talk, connection.who, connection.service)


def _sent(content: m.Content) -> c.SentContent:
    """Returns the content in the types of protocol v2, whose command validates it."""
    if isinstance(content, m.GivenText):
        return c.SentText(content.text)
    if isinstance(content, m.GivenFile):
        return c.SentFile(content.name, blob=c.SentBlob(content.blob_id))
    match content.source:
        case m.InlineSource(media_type=mime_type, data=data):
            return c.SentImage(mime_type, data)
        case m.UrlSource(url=url):
            return c.SentImage(url=url)
        case m.BlobSource(blob_id=blob_id):
            return c.SentImage(blob=c.SentBlob(blob_id))


async def take_reply(reply: r.Reply, stay: Stay | None, connection: RpcConnection) -> None:
    """Takes the reply of a client to a question or a permission.

    Raises Refused if it comes too late.
    """
    request = stay.called(reply.id) if stay is not None else None
    if stay is None or request is None:
        said = "Nothing waits for this answer: it was taken back, was answered, or never asked."
        raise Refused("INVALID_QUESTION_ID", said)
    if reply.failed:
        return  # another client may answer, and this one may still reply
    answer = stay.read_reply(reply, request)
    command: c.ClientFrame
    if isinstance(answer, m.QuestionReply):
        words = c.QuestionAnswer(request.request_id, answer.answer, answer.resume_task)
        command = c.InputResponse(payload=words)
    else:
        choice = c.PermissionChoice(
            request.request_id,
            answer.decision,
            answer.reason,
            answer.updated_input,
            answer.remember,
        )
        command = c.PermissionResponse(payload=choice)
    talk = stay.talk.telling(lambda _: connection.put(reply.id, *stay.answered(reply.id)))
    await carry_out(command, talk, connection.who, connection.service)
