"""Carries out the command in a client's frame, and makes the frame that acknowledges it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, cast

from turnwire.core.content import Content
from turnwire.core.error_codes import Refused
from turnwire.core.pictures import is_among
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.engine import Answer, Talk
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_ID, MOST_PATH, MOST_PATHS
from turnwire.server.new_conversation import check_mode_for, check_option_for, open_roots

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["ack_of", "carry_out", "check_first", "check_id", "put_back", "type_of"]

_ACKS: dict[type, type[f.Frame]] = {
    c.SendMessage: f.MessageAck,
    c.InputResponse: f.InputResponseAck,
    c.PermissionResponse: f.PermissionResponseAck,
    c.Interrupt: f.InterruptAck,
    c.QueueCommand: f.QueueAck,
    c.Rewind: f.RewindAck,
    c.ForgetRule: f.ForgetRuleAck,
    c.SetAgent: f.SetAgentAck,
    c.SetModel: f.SetModelAck,
    c.SetPermissionMode: f.SetPermissionModeAck,
    c.SetMaxThinkingTokens: f.SetMaxThinkingTokensAck,
    c.ControlCommand: f.ControlAck,
}


def type_of(command: c.ClientFrame) -> str:
    """Returns the type of a frame, as in its JSON."""
    return cast("str", command.__struct_config__.tag)


def check_id(own_id: str | None) -> None:
    """Raises Refused if a client's own id is too long to be stored."""
    if own_id is not None and len(own_id) > MOST_ID:
        said = f"`client_message_id` has {len(own_id)} characters; it may have {MOST_ID}."
        raise Refused("INVALID_PAYLOAD", said)


def ack_of(command: c.ClientFrame, answer: Answer, conversation_id: str, now: str) -> f.Frame:
    """Returns the frame that acknowledges a command."""
    ack = answer.ack
    told = p.Accepted(
        command.client_message_id,
        answer.duplicate,
        ack.turn_id,
        ack.queue_id,
        ack.held,
        ack.request_id,
        ack.delivered_as,
        ack.outcome,
        command.payload.model if isinstance(command, c.SetModel) else None,
        ack.mode,
        ack.files,
        ack.failed,
        ack.max_thinking_tokens,
        ack.result,
        ack.agent,
        ack.rule_id,
    )
    return _ACKS[type(command)](conversation_id, None, None, now, None, told)  # type: ignore[call-arg]


def put_back(answer: Answer) -> dict[str, list[str] | None]:
    """Returns the files of a rewind, for protocols that have no frame for them."""
    ack = answer.ack
    return {"files": ack.files} | ({"failed": ack.failed} if ack.failed else {})


async def carry_out(command: c.ClientFrame, talk: Talk, who: Who, service: Service) -> Answer:
    """Validates a command and passes it to the conversation. Raises Refused."""
    check_id(command.client_message_id)
    agent = await talk.agent()
    offered = await service.engine.capabilities_of(talk.row, is_owner=who.is_owner)
    name = type_of(command)
    if name not in offered.commands:
        raise Refused("NOT_SUPPORTED", type=name)
    user, own_id = who.name, command.client_message_id
    match command:
        case c.SendMessage(payload=said):
            content = await _content(said.content, offered, talk, who, service)
            return await talk.send(content, steer=said.steer, user=user, client_message_id=own_id)
        case c.InputResponse(payload=answer):
            await service.check_room(who)
            return await talk.answer(
                answer.question_id,
                answer.answer,
                resume_task=answer.resume_task,
                user=user,
                client_message_id=own_id,
            )
        case c.PermissionResponse(payload=choice):
            await service.check_room(who)
            return await talk.decide(
                choice.request_id,
                choice.decision,
                reason=choice.reason,
                updated_input=choice.updated_input,
                remember=choice.remember,
                user=user,
                client_message_id=own_id,
            )
        case c.Interrupt(payload=stop):
            return await talk.interrupt(
                stop.turn_id, queue=stop.queue, user=user, client_message_id=own_id
            )
        case c.QueueCommand(payload=change):
            new: str | list[Content] | None = None
            if change.content is not None:
                new = await _content(change.content, offered, talk, who, service)
            return await talk.change_queue(
                change.action,
                change.queue_id,
                content=new,
                before=change.before,
                user=user,
                client_message_id=own_id,
            )
        case c.Rewind(payload=to):
            return await talk.rewind_files(
                to.message_sequence, dry_run=to.dry_run, user=user, client_message_id=own_id
            )
        case c.ForgetRule(payload=rule):
            return await talk.forget_rule(rule.rule_id, user=user, client_message_id=own_id)
        case c.SetAgent(payload=chosen):
            return await talk.set_agent(chosen.agent, user=user, client_message_id=own_id)
        case c.SetModel(payload=model):
            return await talk.set_model(model.model, user=user, client_message_id=own_id)
        case c.SetPermissionMode(payload=mode):
            check_mode_for(service.engine.agents, agent, mode.mode, who)
            return await talk.set_permission_mode(mode.mode, user=user, client_message_id=own_id)
        case c.SetMaxThinkingTokens(payload=most):
            return await talk.set_max_thinking_tokens(
                most.max_thinking_tokens, user=user, client_message_id=own_id
            )
        case c.ControlCommand(payload=control):
            check_option_for(offered, control, who)
            return await talk.control(control, user=user, client_message_id=own_id)
        case _:  # the agent offers a command that conversations do not have
            raise Refused("NOT_SUPPORTED", type=name)


async def check_first(
    said: str | list[c.SentContent], agent: str | None, who: Who, service: Service
) -> None:
    """Raises Refused if the first message of a conversation would be refused.

    A conversation that is created by its first message is then not created. `agent`: None for the
    default one. An agent that does not exist is refused later.
    """
    name = agent or service.usual_agent
    if name in service.engine.agents:
        offered = service.engine.capabilities(name, is_owner=who.is_owner)
        await _check_parts(said, offered, who, service)


async def _content(
    said: str | list[c.SentContent],
    offered: p.Capabilities,
    talk: Talk,
    who: Who,
    service: Service,
) -> str | list[Content]:
    """Returns the content of a message. Raises Refused if the user or the agent may not use it.

    Checks the user's quota, blobs and paths, and whether the agent accepts pictures.
    """
    await _check_parts(said, offered, who, service)
    if isinstance(said, str):
        return said
    # The name of an uploaded file is not a path on this machine.
    files = [part for part in said if isinstance(part, c.SentFile)]
    paths = [part.path for part in files if part.blob is None or not _is_name(part.path)]
    if paths:
        await asyncio.to_thread(_check_paths, paths, talk.row.cwd, service)
    return cast("list[Content]", said)


async def _check_parts(
    said: str | list[c.SentContent], offered: p.Capabilities, who: Who, service: Service
) -> None:
    await service.check_room(who, _size_of(said))
    if isinstance(said, str):
        return
    size = 0
    for part in said:
        if isinstance(part, c.SentImage) and not offered.images:
            raise Refused("NOT_SUPPORTED", "This agent takes no pictures.", type="user.message")
        if part.blob is not None:
            row = await service.readable_blob(part.blob.blob_id, who)
            size += row.size
            if isinstance(part, c.SentFile) and not is_among(row.mime_type, offered.files):
                raise _no_such_file(part.path, row.mime_type, offered)
    most = service.settings.max_message_blob_bytes
    if size > most:
        said_so = f"The pictures and files of a message have {size:,} bytes; at most {most:,} are"
        raise Refused("PAYLOAD_TOO_LARGE", f"{said_so} allowed (max_message_blob_bytes).")


def _is_name(path: str) -> bool:
    is_short = len(path) <= MOST_PATH
    return is_short and path not in ("", ".", "..") and not any(each in path for each in "/\\\0")


def _no_such_file(path: str, kind: str, offered: p.Capabilities) -> Refused:
    taken = f"It takes {', '.join(offered.files)}." if offered.files else "It takes no files."
    said = f"The agent {offered.agent} cannot read {path!r} ({kind}). {taken}"
    return Refused("NOT_SUPPORTED", said, type="user.message")


def _size_of(said: str | list[c.SentContent]) -> int:
    """Returns about how many bytes the store will need.

    Blobs do not count: they are stored already.
    """
    if isinstance(said, str):
        return len(said)
    size = 0
    for part in said:
        match part:
            case c.SentText(text=text) | c.SentImage(data=str(text)) | c.SentFile(path=text):
                size += len(text)
            case _:
                pass
    return size


def _check_paths(paths: list[str], cwd: str | None, service: Service) -> None:
    """Raises Refused if a path is not allowed. Reads the file system, so it runs in a thread."""
    if sum(map(len, paths)) > MOST_PATHS:
        said = f"The paths of a message have no more than {MOST_PATHS} characters in all."
        raise Refused("INVALID_PAYLOAD", said)
    for path in paths:
        _check_path(path, cwd, service)


def _check_path(path: str, cwd: str | None, service: Service) -> None:
    if "\0" in path:
        raise Refused("INVALID_PAYLOAD", "A path must not contain a NUL character.")
    if len(path) > MOST_PATH:
        raise Refused("INVALID_PAYLOAD", f"A path has no more than {MOST_PATH} characters.")
    try:
        # An agent without a directory of its own works in the first root.
        where = Path(*service.roots[:1], cwd or "", path).resolve()
    except (OSError, RuntimeError) as error:  # such as a loop of links
        raise Refused("INVALID_PAYLOAD", f"{path!r} cannot be resolved: {error}") from None
    if not any(where.is_relative_to(root) for root in service.roots):
        said = f"{path!r} is not below a directory that agents may work in."
        said += f" {open_roots(service.roots)}"
        raise Refused("FORBIDDEN", said)
