"""The handle of one conversation, for a program that sends commands to it and follows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType, structs

from turnwire.core.content import Content, TextContent
from turnwire.core.controls import AgentControl, RewindFiles, name_of
from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.core.message import Message, known_meta, split_run_id
from turnwire.core.status import Status
from turnwire.dialects.v2.frames import Frame
from turnwire.dialects.v2.reply import OnRequest, Reply, ReplyReader, call_for_requests
from turnwire.engine.actor.commands import Answer
from turnwire.engine.actor.pictures import completed
from turnwire.engine.actor.shared_answers import is_shared
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.engine.fanout.follow import Place
from turnwire.engine.forking import said_in
from turnwire.engine.validation import check_mode, check_model, valid
from turnwire.ports import ConversationRow

if TYPE_CHECKING:
    from turnwire.engine.engine import Engine

__all__ = ["Talk"]

_PAUSE = 0.05  # seconds before a reply is followed again
_DEFAULT = "default"  # in the list of models: the agent can choose the model itself


class Talk:
    """The handle of one conversation: its commands, its status and its frames."""

    def __init__(
        self,
        engine: Engine,
        row: ConversationRow,
        accepted: Callable[[Answer], None] | None = None,
    ) -> None:
        self._engine = engine
        self.row = row
        self._accepted = accepted

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.row.conversation_id

    async def agent(self) -> str:
        """Returns the name of the agent that speaks now."""
        return await self._engine.agent_of(self.row)

    def telling(self, accepted: Callable[[Answer], None]) -> Talk:
        """Returns a handle that calls `accepted` with an answer before its effects are visible."""
        return Talk(self._engine, self.row, accepted)

    async def status(self) -> Status:
        """Returns the current status of the conversation."""
        return await self._engine.status(self.id)

    async def wake(self) -> Status:
        """Takes the conversation over and ends a turn that a crash left running. Raises Owned."""
        return await self._engine.wake(self.id)

    async def send(
        self,
        content: str | list[Content],
        *,
        steer: bool = False,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Sends a message to the agent.

        With `steer` the message goes into the running turn as soon as the agent takes it. It waits
        for its own turn if no turn runs, or if the turn ends first. Raises Refused with
        NOT_SUPPORTED if the agent cannot do that.
        """
        said = _content(content)
        if steer:
            self._check_steers()
        asked = i.Said(
            at=0,
            content=said,
            queue_id=self._engine.new_id(),
            trace_id=self._engine.new_id(),
            by=user,
            client_message_id=client_message_id,
            steer=steer,
        )
        return await self._ask(asked, "user.message", [said, "steer"] if steer else said)

    def _check_steers(self) -> None:
        if not self._engine.capabilities(self.row.agent).steer:
            said = f"The agent {self.row.agent} takes no message into a running turn."
            raise Refused("NOT_SUPPORTED", said, type="user.message")

    async def ask(
        self,
        content: str | list[Content],
        *,
        on_request: OnRequest | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Reply:
        """Sends a message and waits for the end of its turn.

        `on_request` is called with each question and permission of the turn, and has to reply with
        `answer` or `decide`: the turn waits for that. Without `on_request`, the reply to such a turn
        has no `end`: reply to its `requests`, then call `wait`.
        """
        row = await self._engine.open(self.id)
        own_id = client_message_id or self._engine.new_id()
        sent = await self.send(content, user=user, client_message_id=own_id)
        # A message that was sent before has its turn anywhere in the log.
        reader = ReplyReader(own_id, after=0 if sent.duplicate else row.row.head)
        reader.acknowledged(sent.ack.turn_id, sent.ack.queue_id)
        return await call_for_requests(await self._read(reader), on_request, self.wait)

    async def wait(self, reply: Reply) -> Reply:
        """Waits until the turn of a reply has ended or needs another answer. Returns its reply."""
        return reply if reply.end is not None else await self._read(ReplyReader.resumed(reply))

    async def _read(self, reader: ReplyReader) -> Reply:
        while True:
            with suppress(FollowAgain):  # from the cursor of the reader
                async with aclosing(self.follow(last_sequence=reader.cursor)) as frames:
                    async for frame in frames:
                        reply = reader.feed(frame)
                        if reply is not None:
                            return reply
            await asyncio.sleep(_PAUSE)

    async def answer(
        self,
        question_id: str,
        answer: Any,
        *,
        resume_task: bool = True,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Answers a question."""
        asked = i.Answered(
            at=0,
            question_id=question_id,
            answer=answer,
            resume_task=resume_task,
            by=user,
            client_message_id=client_message_id,
        )
        body = [question_id, answer, resume_task]
        return await self._ask(asked, "user.input_response", body)

    async def decide(
        self,
        request_id: str,
        decision: Literal["allow", "deny"],
        *,
        reason: str | None = None,
        updated_input: Any = None,
        remember: list[Any] | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Allows or denies a permission request of the agent."""
        asked = i.Decided(
            at=0,
            request_id=request_id,
            decision=decision,
            reason=reason,
            updated_input=updated_input,
            remember=remember or [],
            by=user,
            client_message_id=client_message_id,
        )
        body = [request_id, decision, reason, updated_input, remember]
        return await self._ask(asked, "user.permission_response", body)

    async def interrupt(
        self,
        turn_id: int,
        *,
        queue: Literal["hold", "continue", "clear"] = "hold",
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Stops a turn."""
        asked = i.Interrupted(
            at=0, turn_id=turn_id, queue=queue, by=user, client_message_id=client_message_id
        )
        return await self._ask(asked, "user.interrupt", [turn_id, queue])

    async def change_queue(
        self,
        action: Literal["remove", "replace", "move", "resume"],
        queue_id: str | None = None,
        *,
        content: str | list[Content] | None = None,
        before: str | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Removes, replaces or moves a queued message, or resumes a held queue."""
        said = None if content is None else _content(content)
        asked = i.ChangedQueue(
            at=0,
            action=action,
            queue_id=queue_id,
            content=said,
            before=before,
            by=user,
            client_message_id=client_message_id,
        )
        return await self._ask(asked, "user.queue", [action, queue_id, said, before])

    async def rename(self, title: str, *, user: str | None = None) -> Answer:
        """Changes the title."""
        return await self._ask(i.Renamed(at=0, title=title, by=user), "rename", title)

    async def fork(
        self,
        at_sequence: int | None = None,
        *,
        title: str | None = None,
        user: str | None = None,
        permission_modes: Sequence[str] | None = None,
    ) -> Talk:
        """Creates a conversation that begins with this one's log; see `Engine.fork`."""
        return await self._engine.fork(
            self.id, at_sequence, title=title, user=user, permission_modes=permission_modes
        )

    async def set_model(
        self, model: str | None, *, user: str | None = None, client_message_id: str | None = None
    ) -> Answer:
        """Changes the model, also during a turn; None means the agent's default."""
        asked = await self._chose(model=model, user=user, client_message_id=client_message_id)
        return await self._ask(asked, "session.set_model", model)

    async def set_agent(
        self, agent: str, *, user: str | None = None, client_message_id: str | None = None
    ) -> Answer:
        """Lets another agent speak from the next turn on. It is told what was said before.

        During a turn, the choice waits for the end of the turn. An agent that spoke before
        continues its own session. The settings of the other agent are kept for that.
        """
        asked = i.ChoseAgent(at=0, agent=agent, by=user, client_message_id=client_message_id)
        return await self._ask(asked, "session.set_agent", agent)

    async def forget_rule(
        self, rule_id: str, *, user: str | None = None, client_message_id: str | None = None
    ) -> Answer:
        """Takes a remembered permission rule back: the agent asks again.

        Raises Refused for a rule that the agent keeps in its own settings. A rule that is gone
        already changes nothing.
        """
        asked = i.ForgotRule(at=0, rule_id=rule_id, by=user, client_message_id=client_message_id)
        return await self._ask(asked, "session.forget_rule", rule_id)

    async def set_permission_mode(
        self, mode: str, *, user: str | None = None, client_message_id: str | None = None
    ) -> Answer:
        """Changes the permission mode: how often the agent asks for permission."""
        asked = await self._chose(
            permission_mode=mode, user=user, client_message_id=client_message_id
        )
        return await self._ask(asked, "session.set_permission_mode", mode)

    async def set_max_thinking_tokens(
        self,
        max_thinking_tokens: int | None,
        *,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Limits the thinking of the agent; 0 turns it off, None restores the initial value."""
        asked = await self._chose(
            max_thinking_tokens=max_thinking_tokens, user=user, client_message_id=client_message_id
        )
        return await self._ask(asked, "session.set_max_thinking_tokens", max_thinking_tokens)

    async def choose(
        self,
        *,
        model: str | UnsetType | None = UNSET,
        permission_mode: str | UnsetType = UNSET,
        max_thinking_tokens: int | UnsetType | None = UNSET,
        user: str | None = None,
    ) -> Answer:
        """Changes several settings in one step, all or none. Settings that are not given stay."""
        asked = await self._chose(model, permission_mode, max_thinking_tokens, user)
        return await self._ask(asked, "choose", None)

    async def _chose(
        self,
        model: str | UnsetType | None = UNSET,
        permission_mode: str | UnsetType = UNSET,
        max_thinking_tokens: int | UnsetType | None = UNSET,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> i.Chose:
        """Returns the input for new settings. Raises Refused if the agent does not support one."""
        chosen = None if model is UNSET else await self._model(model)
        mode = None if permission_mode is UNSET else permission_mode
        if mode is not None:
            able = await self._engine.check_able(self.row, "session.set_permission_mode")
            check_mode(able, mode, await self._engine.offers_of(self.row))
        if max_thinking_tokens is not UNSET:
            await self._engine.check_able(self.row, "session.set_max_thinking_tokens")
        return i.Chose(
            at=0,
            model=chosen,
            permission_mode=mode,
            max_thinking_tokens=max_thinking_tokens,
            by=user,
            client_message_id=client_message_id,
        )

    async def _model(self, model: str | None) -> str:
        """Returns the name of the model. Raises Refused if the agent does not support it."""
        able = await self._engine.check_able(self.row, "session.set_model")
        offers = await self._engine.offers_of(self.row)
        told = offers.models if offers is not None and able.session_offers else []
        models = [*able.models, *told]
        if model is None and _DEFAULT not in models:
            raise Refused("NOT_SUPPORTED", "This agent has no default to go back to. Name a model.")
        chosen = _DEFAULT if model is None else model
        check_model(able, chosen, offers)
        return chosen

    async def rewind_files(
        self,
        message_sequence: int,
        *,
        dry_run: bool = False,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Restores files to their state before a person's message. The log stays as it is."""
        await self._engine.check_able(self.row, "user.rewind")
        run = await self._run_of(message_sequence)
        control = RewindFiles(message_sequence, run, dry_run)
        return await self._control(control, "user.rewind", user, client_message_id)

    async def control(
        self,
        control: AgentControl,
        *,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Sends a control to the agent; its result is in `ack.result`.

        Opens the agent if it is closed.
        """
        name, agent = name_of(control), await self.agent()
        able = await self._engine.check_able(self.row, "session.control")
        if name not in able.controls:
            known = ", ".join(able.controls)
            said = f"The agent {agent} has no control {name}; it has: {known}."
            raise Refused("NOT_SUPPORTED", said, type="session.control")
        if not is_shared(control):
            return await self._control(control, "session.control", user, client_message_id)
        own = Talk(self._engine, self.row)
        answer = await self._engine.shared_answers.get(
            structs.replace(self.row, agent=agent),
            control,
            lambda: own._control(control, "session.control", user, client_message_id),
        )
        if self._accepted is not None:
            self._accepted(answer)
        return answer

    async def _control(
        self, control: AgentControl | RewindFiles, kind: str, user: str | None, own_id: str | None
    ) -> Answer:
        name = self._engine.new_id()
        asked = i.Controls(
            at=0, control_id=name, control=control, by=user, client_message_id=own_id
        )
        return await self._ask(asked, kind, control)

    async def _run_of(self, message_sequence: int) -> str:
        """Returns the id of the run that a person's message began, as the agent knows it.

        Raises Refused if the entry is no message of a person.
        """
        entries = self._engine.store.entries
        for stored in await entries(self.id, after=message_sequence - 1, limit=1):
            if stored.sequence == message_sequence and _is_a_persons(stored.entry):
                _, turn_id = split_run_id(stored.entry.run_id)
                name = await said_in(self._engine.store, self.row, message_sequence)
                return f"{name}:{turn_id}"
        said = f"Entry {message_sequence} of the log is no message of a person's."
        raise Refused("INVALID_PAYLOAD", said)

    async def follow(
        self,
        *,
        last_sequence: int | None = None,
        epoch: str | None = None,
        tail: int | None = None,
        client_id: str = "local",
        user: str | None = None,
    ) -> AsyncGenerator[Frame, None]:
        """Yields the log after `last_sequence`, then live events, as the frames of protocol v2."""
        place = Place(last_sequence or 0, epoch, tail)
        sequence = 0
        async with aclosing(self._engine.follow(self.row, place, client_id, user)) as sent:
            async for each in sent:
                sequence += 1
                yield structs.replace(each.frame, sequence=sequence)

    async def _ask(self, asked: i.Asked, kind: str, body: Any) -> Answer:
        """Validates an input and hands it to the conversation, which sets its time.

        `body` is the command as it was sent, to recognize a repeat. Blobs are completed only in
        `asked`.
        """
        asked = valid(asked)
        if isinstance(asked, i.Said | i.ChangedQueue) and asked.content:
            known = await completed(asked.content, self._engine.store.blob)
            asked = structs.replace(asked, content=known)
        sent = msgspec.json.encode([kind, body])
        return await self._engine.ask(self.id, asked, body=sent, accepted=self._accepted)


def _is_a_persons(entry: Message) -> bool:
    return entry.role == "user" and known_meta(entry).origin == "user"


def _content(said: str | list[Content]) -> list[Content]:
    return [TextContent(said)] if isinstance(said, str) else said
