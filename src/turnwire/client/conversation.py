"""The client of one conversation; it survives lost connections."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Literal, Self, cast
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from turnwire.client.address import checked, is_local
from turnwire.core.controls import AgentControl, ControlResult
from turnwire.core.error_codes import ERRORS, Refused
from turnwire.core.status import Status
from turnwire.core.view import View
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.close_codes import CLOSE_CODES, may_reconnect
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.reply import OnRequest, Reply, ReplyReader, call_for_requests
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.errors import TurnwireError

__all__ = ["ClientConversation", "Closed", "Line", "refusal"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between attempts to connect
_LASTED = 5.0  # seconds after which a connection resets the pause
_WAITING = 10_000  # frames that may wait to be read; then the socket is not read (backpressure)
_WAITING_REPLIES = 100  # replies without an end that `wait` can still be called with


class Line(Struct, frozen=True):
    """The state of the connection."""

    state: Literal["connecting", "catching_up", "live", "offline"]
    retry_at: float | None = None  # if offline: time of the next attempt, by the event loop's clock


class Closed(TurnwireError):
    """The server has closed the connection and does not allow another one. `code` says why."""

    def __init__(self, close_code: int, error: p.ErrorPayload | None) -> None:
        said = error.message if error else CLOSE_CODES.get(close_code, f"Closed: {close_code}.")
        super().__init__(said, close_code=close_code)
        self.code = error.code if error else "CONVERSATION_CLOSED"
        self.what_to_do = error.what_to_do if error else ERRORS[self.code].what_to_do


def refusal(error: Mapping[str, Any]) -> TurnwireError:
    """Returns an error of the server as an exception."""
    code, said, data = error["code"], error["message"], error.get("data") or {}
    refused = Refused(code, said, **data) if code in ERRORS else TurnwireError(said, **data)
    refused.code = code
    refused.retryable = error.get("retryable", refused.retryable)
    refused.what_to_do = error.get("what_to_do", refused.what_to_do)
    return refused


class _Asked:
    """A message that waits for its reply. Collects replies that arrive before the next `wait`."""

    def __init__(self, reader: ReplyReader) -> None:
        self.replies: asyncio.Queue[Reply | Exception] = asyncio.Queue()
        self.reader = reader

    def feed(self, frame: f.ServerFrame) -> None:
        """Reads a frame, and queues the reply if the frame completes one."""
        try:
            reply = self.reader.feed(frame)
        except TurnwireError as removed:
            self.replies.put_nowait(removed)
        else:
            if reply is not None:
                self.replies.put_nowait(reply)


class ClientConversation:
    """Follows a conversation and sends commands to it. Iterate over it for its frames, each once.

    Enter it with `async with`, or call `open` and `close`.

    If too many frames wait to be read, the socket is not read until the program takes some of them
    or sends a command.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        last_sequence: int = 0,
        epoch: str | None = None,
        tail: int | None = None,
        find: Callable[[], tuple[str, str] | None] | None = None,
    ) -> None:
        """`find` is called before each attempt to connect: the current address and token."""
        address, token = checked(address, token, "ws", "wss")
        self.connected = asyncio.Event()  # set while connected, after the replay
        self.line = Line("connecting")
        self.on_line: Callable[[], None] | None = None  # called when `line` has changed
        # Called with every frame as the server sends it: numbered, and wrapped if it is replayed.
        self.on_frame: Callable[[f.ServerFrame], None] | None = None
        self._address = address
        self._token = token
        self._find = find
        self._hurry = asyncio.Event()
        self._tail = tail
        self._socket: ClientConnection | None = None
        self._largest: int | None = None  # maximum bytes of a frame, as the server says
        self._unanswered: dict[str, tuple[bytes, asyncio.Future[p.Accepted]]] = {}
        self._frames: asyncio.Queue[f.ServerFrame | None] = asyncio.Queue()
        self._wanted = asyncio.Event()  # set when a frame was taken, or a command was sent
        self._asked: dict[str | int, _Asked] = {}  # what `ask` waits for, by message id or turn id
        self._loops = 0  # running iterations over this conversation
        self._asking = 0  # calls of `ask` and `wait` that wait for a reply
        self._reducer = ViewReducer(cursor=last_sequence, epoch=epoch)
        self._ended: set[int] = set()  # turns whose end was received
        self._last_error: p.ErrorPayload | None = None
        self._closed: Exception | None = None  # why no connection is attempted any more
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def open(self) -> None:
        """Begins to connect, as at the beginning of `async with`. Then `close` has to be called.

        Commands wait for the connection. Raises TurnwireError if it was opened or closed before.
        """
        if self._task is not None or self._closed is not None:
            raise TurnwireError(
                "This conversation was opened before, or closed. Ask the client for another one."
            )
        self._task = asyncio.create_task(self._attend())

    async def close(self) -> None:
        """Leaves the conversation, as at the end of `async with`. Calling it again is harmless."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._closed is None:
            self._end(
                TurnwireError("You have left this conversation. Connect again from its `cursor`.")
            )

    async def __aiter__(self) -> AsyncIterator[f.ServerFrame]:
        """Yields the frames; replayed frames look as they were first sent. Raises Closed."""
        self._loops += 1
        try:
            while True:
                frame = await self._frames.get()
                self._wanted.set()
                if frame is None:
                    self._frames.put_nowait(None)  # a later iteration ends in the same way
                    assert self._closed is not None
                    raise self._closed
                yield frame
        finally:
            self._loops -= 1

    @property
    def cursor(self) -> int:
        """The sequence of the newest entry that was received."""
        return self._reducer.cursor

    @property
    def epoch(self) -> str | None:
        """The log that `cursor` belongs to."""
        return self._reducer.epoch

    @property
    def status(self) -> Status | None:
        """The newest state: what runs, waits and is queued. None before the first connection."""
        return self._reducer.status

    def view(self) -> View:
        """Returns the conversation as a person would see it now."""
        return self._reducer.view()

    def hurry(self) -> None:
        """Ends the pause before the next attempt to connect, because something has changed."""
        self._hurry.set()

    # --- commands -------------------------------------------------------------------------------

    async def send(
        self,
        content: str | list[c.SentContent],
        client_message_id: str | None = None,
        *,
        steer: bool = False,
    ) -> p.Accepted:
        """Sends a message to the agent, exactly once. Raises Refused or Closed.

        With `steer` the message goes into the running turn as soon as the agent takes it. It waits
        for its own turn if no turn runs, or if the turn ends first. `capabilities.steer` says
        whether the agent can do that.
        """
        said = c.NewMessage(content, steer)
        return await self._ask(c.SendMessage(client_message_id=client_message_id, payload=said))

    async def ask(
        self, content: str | list[c.SentContent], *, on_request: OnRequest | None = None
    ) -> Reply:
        """Sends a message and waits for the end of its turn.

        `on_request` is called with each question and permission of the turn, and has to reply with
        `answer` or `decide`: the turn waits for that. Without `on_request`, the reply to such a turn
        has no `end`: reply to its `requests`, then call `wait`.
        An iteration over the conversation at the same time gets all frames as well.
        """
        own_id = str(uuid.uuid4())
        with self._reading_replies():
            asked = self._asked[own_id] = _Asked(ReplyReader(own_id, after=self.cursor))
            try:
                await self.send(content, own_id)
                reply = await self._next_reply(asked)
            finally:
                del self._asked[own_id]
            return await call_for_requests(reply, on_request, self.wait)

    async def wait(self, reply: Reply) -> Reply:
        """Waits until the turn of a reply has ended or needs another answer. Returns its reply."""
        if reply.end is not None:
            return reply
        asked = self._asked.get(reply.turn_id)
        if asked is None:
            raise TurnwireError(
                "This conversation does not wait for this reply. Pass a reply of its `ask`."
            )
        with self._reading_replies():
            return await self._next_reply(asked)

    @contextmanager
    def _reading_replies(self) -> Iterator[None]:
        """The frames go to the reply: they are read on, and not kept unless an iteration runs."""
        self._asking += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._asking -= 1

    async def _next_reply(self, asked: _Asked) -> Reply:
        """Returns the next reply. If its turn goes on, later replies are collected until `wait`."""
        if self._closed is not None and asked.replies.empty():
            raise self._closed
        reply = await asked.replies.get()
        if isinstance(reply, Exception):
            raise reply
        self._asked.pop(reply.turn_id, None)
        if reply.end is None:
            self._asked[reply.turn_id] = asked
            waiting = [key for key in self._asked if isinstance(key, int)]
            for turn_id in waiting[:-_WAITING_REPLIES]:
                del self._asked[turn_id]
        return reply

    async def answer(
        self, question_id: str, answer: str | dict[str, str | list[str]]
    ) -> p.Accepted:
        """Answers a question."""
        return await self._ask(c.InputResponse(payload=c.QuestionAnswer(question_id, answer)))

    async def decide(
        self,
        request_id: str,
        decision: p.Decision,
        *,
        reason: str | None = None,
        updated_input: Any = None,
        remember: list[Any] | None = None,
    ) -> p.Accepted:
        """Allows or denies a permission request of the agent."""
        choice = c.PermissionChoice(request_id, decision, reason, updated_input, remember or [])
        return await self._ask(c.PermissionResponse(payload=choice))

    async def interrupt(self, turn_id: int, queue: p.QueueFate = "hold") -> p.Accepted:
        """Stops a turn."""
        return await self._ask(c.Interrupt(payload=c.Stop(turn_id, queue)))

    async def change_queue(
        self,
        action: Literal["remove", "replace", "move", "resume"],
        queue_id: str | None = None,
        *,
        content: str | list[c.SentContent] | None = None,
        before: str | None = None,
    ) -> p.Accepted:
        """Removes, replaces or moves a queued message, or resumes a held queue."""
        change = c.QueueChange(action, queue_id, content, before)
        return await self._ask(c.QueueCommand(payload=change))

    async def forget_rule(self, rule_id: str) -> p.Accepted:
        """Takes a remembered permission rule back: the agent asks again."""
        return await self._ask(c.ForgetRule(payload=c.RuleChoice(rule_id)))

    async def set_agent(self, agent: str) -> p.Accepted:
        """Lets another agent speak from the next turn on. It is told what was said before."""
        return await self._ask(c.SetAgent(payload=c.AgentChoice(agent)))

    async def set_model(self, model: str | None) -> p.Accepted:
        """Changes the model; None means the agent's default."""
        return await self._ask(c.SetModel(payload=c.ModelChoice(model)))

    async def set_permission_mode(self, mode: str) -> p.Accepted:
        """Changes the permission mode: how often the agent asks for permission."""
        return await self._ask(c.SetPermissionMode(payload=c.PermissionModeChoice(mode)))

    async def set_max_thinking_tokens(self, max_thinking_tokens: int | None) -> p.Accepted:
        """Limits the thinking of the agent; 0 turns it off, None restores the initial value."""
        choice = c.ThinkingChoice(max_thinking_tokens)
        return await self._ask(c.SetMaxThinkingTokens(payload=choice))

    async def rewind_files(self, message_sequence: int, *, dry_run: bool = False) -> list[str]:
        """Restores files to their state before a message. Returns the files, also of a dry run."""
        to = c.RewindTo(message_sequence, dry_run)
        return (await self._ask(c.Rewind(payload=to))).files or []

    async def control(self, control: AgentControl) -> ControlResult:
        """Sends a control to the agent and returns its result. Opens the agent if it is closed."""
        accepted = await self._ask(c.ControlCommand(payload=control))
        result: ControlResult = msgspec.convert(accepted.result, ControlResult)
        return result

    async def _ask(self, command: c.ClientFrame) -> p.Accepted:
        if self._task is None:
            raise TurnwireError(
                "The client is not connected yet. Send commands inside of `async with`, or after `open`."
            )
        own_id = command.client_message_id or str(uuid.uuid4())
        while own_id in self._unanswered:  # a repeated command waits for the answer to the first
            await asyncio.wait([self._unanswered[own_id][1]])
        if self._closed is not None:
            raise self._closed
        command = msgspec.structs.replace(command, client_message_id=own_id)
        raw = msgspec.json.encode(command)
        answered: asyncio.Future[p.Accepted] = asyncio.get_running_loop().create_future()
        self._unanswered[own_id] = (raw, answered)
        answered.add_done_callback(lambda _: self._unanswered.pop(own_id))
        self._wanted.set()
        try:
            if self._socket is not None:
                with suppress(ConnectionClosed):  # then it is sent again after the next connect
                    await self._put(self._socket, raw, answered)
            return await answered
        finally:
            answered.cancel()  # does nothing if it has a result

    async def _put(
        self, socket: ClientConnection, raw: bytes, answered: asyncio.Future[p.Accepted]
    ) -> None:
        """Sends a command. Refuses one that is too large: the server would close the connection."""
        if self._largest is not None and len(raw) > self._largest:
            said = f"A frame has no more than {self._largest} bytes (max_frame_bytes)."
            _fail(answered, Refused("PAYLOAD_TOO_LARGE", said, max_frame_bytes=self._largest))
        else:
            await socket.send(raw.decode())

    # --- the connection -------------------------------------------------------------------------

    async def _attend(self) -> None:
        """Keeps the connection. Reports any failure to all callers that wait."""
        try:
            await self._connect_again()
        except Exception as failure:
            self._end(failure)

    async def _connect_again(self) -> None:
        """Connects and reconnects until the server forbids another attempt."""
        loop = asyncio.get_running_loop()
        pause = 0.0
        while True:
            began = loop.time()
            code = await self._connect()
            self.connected.clear()
            self._socket = self._largest = None
            if not may_reconnect(code):
                self._end(Closed(code, self._last_error))
                return
            lasted = loop.time() - began > _LASTED
            pause = 0.0 if lasted else min(max(pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
            wait = pause * random.uniform(0.5, 1.5)
            error, self._last_error = self._last_error, None
            if error is not None and error.code == "RATE_LIMITED":
                wait = max(wait, float(error.data.get("retry_after", 0)))
            await self._pause(wait)

    async def _pause(self, seconds: float) -> None:
        self._hurry.clear()
        self._tell(Line("offline", asyncio.get_running_loop().time() + seconds))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        self._tell(Line("connecting"))

    def _tell(self, line: Line) -> None:
        self.line = line
        if self.on_line is not None:
            self.on_line()

    async def _connect(self) -> int:
        """Runs one connection to its end, and returns its close code."""
        query: dict[str, Any] = {"protocol": "v2", "last_sequence": self.cursor}
        if self.epoch is not None:
            query["epoch"] = self.epoch
        if self._tail is not None:
            query["tail"] = self._tail
        if self._find is not None:
            place = self._find() or (self._address, self._token)
            self._address, self._token = checked(*place, "ws", "wss")
        try:
            socket = await connect(
                f"{self._address}?{urlencode(query)}",
                additional_headers={"Authorization": f"Bearer {self._token}"},
                max_size=None,
                compression=None,
                proxy=None if is_local(self._address) else True,
            )
            try:
                await self._listen(socket)
            finally:
                await socket.close()  # with a close frame, also if this client leaves
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006
        except (OSError, WebSocketException):
            return 1006
        return 1000

    async def _listen(self, socket: ClientConnection) -> None:
        """Reads frames until the end, or until one is missing: then reconnects from the cursor."""
        async for message in socket:
            if not await self._hear(decode(message)):
                return
            if self._socket is None and self._largest is not None:
                self._socket = socket  # later commands are sent by `_ask`
                for raw, answered in list(self._unanswered.values()):
                    await self._put(socket, raw, answered)

    async def _hear(self, frame: f.ServerFrame) -> bool:
        """Handles a frame. Returns False if a frame before it is missing."""
        if self.on_frame is not None:
            self.on_frame(frame)
        before = self.cursor
        self._reducer.apply(frame)
        if self._reducer.is_behind:
            return False
        if isinstance(frame, f.MessageReplay):
            frame = frame.payload.event
        match frame:
            case f.SessionConnected(payload=info) | f.SessionResumed(payload=info):
                self._tell(Line("catching_up"))
                self._largest = info.limits.max_frame_bytes
            case f.SessionReset():
                self._ended.clear()
            case f.SessionState():
                if not self.connected.is_set():
                    self.connected.set()
                    self._tell(Line("live"))
            case f.SessionError(payload=error):
                self._last_error = error
                self._refused(error)
            case f.AssistantComplete(turn_id=int(turn_id)):
                if turn_id in self._ended:
                    return True
                self._ended.add(turn_id)
            case _:
                payload = getattr(frame, "payload", None)
                if isinstance(payload, p.Accepted):
                    self._accepted(payload)
                number = getattr(payload, "message_sequence", None)
                if number is not None and number <= before:
                    return True  # it was received before
        for asked in {id(each): each for each in self._asked.values()}.values():
            asked.feed(frame)
        if self._asking and not self._loops:
            return True  # a program that only uses `ask` does not read the queue
        self._frames.put_nowait(frame)
        await self._until_wanted()
        return True

    async def _until_wanted(self) -> None:
        """Stops reading while too many frames wait to be read.

        Goes on if an answer or the end of the replay is still to come: it may be in a later frame.
        """
        while (
            self._frames.qsize() >= _WAITING
            and not self._unanswered
            and not self._asking
            and self.connected.is_set()
        ):
            self._wanted.clear()
            await self._wanted.wait()

    def _accepted(self, ack: p.Accepted) -> None:
        asked = self._asked.get(ack.client_message_id or "")
        if asked is not None:
            asked.reader.acknowledged(ack.turn_id, ack.queue_id)
        waiting = self._unanswered.get(ack.client_message_id or "")
        if waiting is not None and not waiting[1].done():
            waiting[1].set_result(ack)

    def _refused(self, error: p.ErrorPayload) -> None:
        waiting = self._unanswered.get(error.client_message_id or "")
        if waiting is not None:
            told = cast("Mapping[str, Any]", msgspec.to_builtins(error))
            _fail(waiting[1], refusal(told))

    def _end(self, closed: Exception) -> None:
        self._closed = closed
        for _, answered in self._unanswered.values():
            _fail(answered, closed)
        for asked in self._asked.values():
            asked.replies.put_nowait(closed)
        self._frames.put_nowait(None)


def _fail(answered: asyncio.Future[p.Accepted], error: Exception) -> None:
    if not answered.done():
        answered.set_exception(error)
