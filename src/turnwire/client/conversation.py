"""One conversation, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, Self, cast
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from turnwire.client.address import check, is_local
from turnwire.core.controls import AgentControl, ControlResult
from turnwire.core.error_codes import ERRORS, Refused
from turnwire.core.view import View
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.close_codes import CLOSE_CODES, may_reconnect
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.reply import Reply, ReplyReader
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.errors import TurnwireError

__all__ = ["ClientConversation", "Closed", "Line", "refusal"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between attempts
_LASTED = 5.0  # seconds after which a connection counts as a good one
_WAITING = 10_000  # frames that may wait for whoever reads them before the server has to wait


class Line(Struct, frozen=True):
    """How the connection is."""

    state: Literal["connecting", "catching_up", "live", "offline"]
    retry_at: float | None = None  # if offline: when it is tried again, by the loop's clock


class Closed(TurnwireError):
    """The server has closed the conversation for good. `code` says why."""

    def __init__(self, close_code: int, error: p.ErrorPayload | None) -> None:
        said = error.message if error else CLOSE_CODES.get(close_code, f"Closed: {close_code}.")
        super().__init__(said, close_code=close_code)
        self.code = error.code if error else "CONVERSATION_CLOSED"


def refusal(error: Mapping[str, Any]) -> TurnwireError:
    """What a server says was refused, as what can be raised."""
    code, said, data = error["code"], error["message"], error.get("data") or {}
    if code in ERRORS:
        return Refused(code, said, **data)
    refused = TurnwireError(said, **data)
    refused.code = code
    return refused


class _Asked:
    """A message whose reply is waited for. Frames that come before the next `wait` are collected here."""

    def __init__(self, reader: ReplyReader) -> None:
        self.replies: asyncio.Queue[Reply | Exception] = asyncio.Queue()
        self._reader = reader

    def feed(self, frame: f.ServerFrame) -> None:
        """Takes a frame."""
        try:
            reply = self._reader.feed(frame)
        except TurnwireError as removed:
            self.replies.put_nowait(removed)
        else:
            if reply is not None:
                self.replies.put_nowait(reply)


class ClientConversation:
    """Follows a conversation and talks in it. Iterate over it for its frames, each once.

    If too many wait to be read, it hears no more until some are read or something is asked.
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
        """`find`, where it is given, is asked before each attempt: the address and token of today."""
        check(address, token, "ws", "wss")
        self.connected = asyncio.Event()  # set while the line holds and all that was missed is here
        self.line = Line("connecting")
        self.on_line: Callable[[], None] | None = None  # called when that has changed
        # Called with every frame as the server sends it: numbered, and what was missed packed.
        self.on_frame: Callable[[f.ServerFrame], None] | None = None
        self._address = address
        self._token = token
        self._find = find
        self._hurry = asyncio.Event()
        self._tail = tail
        self._socket: ClientConnection | None = None
        self._largest: int | None = None  # bytes of a frame, as this connection's server has said
        self._unanswered: dict[str, tuple[bytes, asyncio.Future[p.Accepted]]] = {}
        self._frames: asyncio.Queue[f.ServerFrame | None] = asyncio.Queue()
        self._wanted = asyncio.Event()  # set when a frame was taken, or an answer is waited for
        self._asked: dict[str | int, _Asked] = {}  # by their message, or turn: what `ask` waits for
        self._loops = 0  # over the conversation, that run now
        self._reducer = ViewReducer(cursor=last_sequence, epoch=epoch)
        self._ended: set[int] = set()  # turns whose end was seen
        self._last_error: p.ErrorPayload | None = None
        self._closed: Exception | None = None  # why there is no way back
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._task is not None or self._closed is not None:
            raise TurnwireError("It was entered before, or closed. Ask the client for another one.")
        self._task = asyncio.create_task(self._attend())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the conversation, as at the end of `async with`. May be called again."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._closed is None:
            self._end(
                TurnwireError("You have left this conversation: come again from its `cursor`.")
            )

    async def __aiter__(self) -> AsyncIterator[f.ServerFrame]:
        """Frames as they come; what was missed comes as it was first sent. Raises Closed."""
        self._loops += 1
        try:
            while True:
                frame = await self._frames.get()
                self._wanted.set()
                if frame is None:
                    self._frames.put_nowait(None)  # a later loop ends in the same way
                    assert self._closed is not None
                    raise self._closed
                yield frame
        finally:
            self._loops -= 1

    @property
    def cursor(self) -> int:
        """Everything up to this number was seen."""
        return self._reducer.cursor

    @property
    def epoch(self) -> str | None:
        """The log that this number is of."""
        return self._reducer.epoch

    def view(self) -> View:
        """What a person would see now."""
        return self._reducer.view()

    def hurry(self) -> None:
        """Whoever waits to connect again does so now: something has changed."""
        self._hurry.set()

    # --- asking ---------------------------------------------------------------------------------

    async def send(
        self, content: str | list[c.SentContent], client_message_id: str | None = None
    ) -> p.Accepted:
        """Say something to the agent. Raises Refused, or Closed; it never counts twice."""
        said = c.NewMessage(content)
        return await self._ask(c.SendMessage(client_message_id=client_message_id, payload=said))

    async def ask(
        self, content: str | list[c.SentContent], client_message_id: str | None = None
    ) -> Reply:
        """Sends a message and waits for the end of its turn.

        If the turn waits for a person, the reply has no `end`: reply to its `requests`, and then `wait`. A loop over the
        conversation that runs meanwhile gets all frames as well.
        """
        own_id = client_message_id or str(uuid.uuid4())
        asked = self._asked[own_id] = _Asked(ReplyReader(own_id, after=self.cursor))
        try:
            await self.send(content, own_id)
            return await self._next_reply(asked)
        finally:
            del self._asked[own_id]

    async def wait(self, reply: Reply) -> Reply:
        """Waits until the turn of a reply has ended, or waits for another answer."""
        if reply.end is not None:
            return reply
        asked = self._asked.get(reply.turn_id)
        if asked is None:
            raise TurnwireError("The reply is not one that this conversation waits for.")
        return await self._next_reply(asked)

    async def _next_reply(self, asked: _Asked) -> Reply:
        """If the turn goes on after it, what comes is collected until `wait`."""
        reply = await asked.replies.get()
        if isinstance(reply, Exception):
            raise reply
        if reply.end is None:
            self._asked[reply.turn_id] = asked
        else:
            self._asked.pop(reply.turn_id, None)
        return reply

    async def answer(
        self, question_id: str, answer: str | dict[str, str | list[str]]
    ) -> p.Accepted:
        """Answer a question."""
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
        """Allow or deny what the agent wants to run."""
        choice = c.PermissionChoice(request_id, decision, reason, updated_input, remember or [])
        return await self._ask(c.PermissionResponse(payload=choice))

    async def interrupt(self, turn_id: int, queue: p.QueueFate = "hold") -> p.Accepted:
        """Stop a turn."""
        return await self._ask(c.Interrupt(payload=c.Stop(turn_id, queue)))

    async def change_queue(
        self,
        action: Literal["remove", "replace", "move", "resume"],
        queue_id: str | None = None,
        *,
        content: str | list[c.SentContent] | None = None,
        before: str | None = None,
    ) -> p.Accepted:
        """Remove, replace or move what waits, or let a held queue go on."""
        change = c.QueueChange(action, queue_id, content, before)
        return await self._ask(c.QueueCommand(payload=change))

    async def set_model(self, model: str | None) -> p.Accepted:
        """Go on with another model; None: the agent's default."""
        return await self._ask(c.SetModel(payload=c.ModelChoice(model)))

    async def set_permission_mode(self, mode: str) -> p.Accepted:
        """Have the agent ask more, or less."""
        return await self._ask(c.SetPermissionMode(payload=c.PermissionModeChoice(mode)))

    async def set_max_thinking_tokens(self, max_thinking_tokens: int | None) -> p.Accepted:
        """Have the agent think more, or less; 0: not at all; None: as the conversation began."""
        choice = c.ThinkingChoice(max_thinking_tokens)
        return await self._ask(c.SetMaxThinkingTokens(payload=choice))

    async def rewind_files(self, message_sequence: int, *, dry_run: bool = False) -> list[str]:
        """Put the files back as they were before a message: which ones that were, or would be."""
        to = c.RewindTo(message_sequence, dry_run)
        return (await self._ask(c.Rewind(payload=to))).files or []

    async def control(self, control: AgentControl) -> ControlResult:
        """Ask something of the agent beside the talk. It is woken up for it if it sleeps."""
        accepted = await self._ask(c.ControlCommand(payload=control))
        result: ControlResult = msgspec.convert(accepted.result, ControlResult)
        return result

    async def _ask(self, command: c.ClientFrame) -> p.Accepted:
        if self._task is None:
            raise TurnwireError("Nobody is connected yet. Ask inside of `async with`.")
        own_id = command.client_message_id or str(uuid.uuid4())
        while own_id in self._unanswered:  # the same again: it is answered after the first
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
                with suppress(ConnectionClosed):  # then it is sent again
                    await self._put(self._socket, raw, answered)
            return await answered
        finally:
            answered.cancel()  # unless it is there

    async def _put(
        self, socket: ClientConnection, raw: bytes, answered: asyncio.Future[p.Accepted]
    ) -> None:
        """Send it. What is much too large would be cut off unread, together with the line."""
        if self._largest is not None and len(raw) > self._largest:
            _fail(answered, Refused("PAYLOAD_TOO_LARGE", max_frame_bytes=self._largest))
        else:
            await socket.send(raw.decode())

    # --- the line -------------------------------------------------------------------------------

    async def _attend(self) -> None:
        """Whoever waits for something hears of the end, whatever it is."""
        try:
            await self._connect_again()
        except Exception as failure:
            self._end(failure)

    async def _connect_again(self) -> None:
        """Connect, and again, until it cannot help any more."""
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
        """One connection, to its end: the code that it was closed with."""
        place: dict[str, Any] = {"protocol": "v2", "last_sequence": self.cursor}
        if self.epoch is not None:
            place["epoch"] = self.epoch
        if self._tail is not None:
            place["tail"] = self._tail
        if self._find is not None:
            self._address, self._token = self._find() or (self._address, self._token)
            check(self._address, self._token, "ws", "wss")
        try:
            socket = await connect(
                f"{self._address}?{urlencode(place)}",
                additional_headers={"Authorization": f"Bearer {self._token}"},
                max_size=None,
                compression=None,
                proxy=None if is_local(self._address) else True,
            )
            try:
                await self._listen(socket)
            finally:
                await socket.close()  # a good end, also if this client just leaves
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006
        except (OSError, WebSocketException):
            return 1006
        return 1000

    async def _listen(self, socket: ClientConnection) -> None:
        """To the end; or until something is missing: then begin again from the last place."""
        async for message in socket:
            if not await self._hear(decode(message)):
                return
            if self._socket is None and self._largest is not None:
                self._socket = socket  # what is asked from now on goes out by itself
                for raw, answered in list(self._unanswered.values()):
                    await self._put(socket, raw, answered)

    async def _hear(self, frame: f.ServerFrame) -> bool:
        """Take a frame. False: one before it is missing."""
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
                    return True  # it was seen
        for asked in {id(each): each for each in self._asked.values()}.values():
            asked.feed(frame)
        if self._asked and not self._loops:
            return True  # or they would pile up in a program that only asks
        self._frames.put_nowait(frame)
        await self._until_wanted()
        return True

    async def _until_wanted(self) -> None:
        """Do not read ahead too far. An answer, and the end of what was missed, may be further on."""
        while self._frames.qsize() >= _WAITING and not self._unanswered and self.connected.is_set():
            self._wanted.clear()
            await self._wanted.wait()

    def _accepted(self, ack: p.Accepted) -> None:
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
