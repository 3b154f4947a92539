"""A front end of the profile `classic`, written from the facts of its client alone.

It knows no code of Turnwire. It raises an error for any frame that its parser would not know, and
it keeps what a person would see on its screen.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import count
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

Frame = dict[str, Any]
Shown = tuple[Any, ...]

PATIENCE = 120.0

KINDS = (
    *("user", "assistant", "result", "stream_event", "error"),
    *("status_system", "compact_boundary"),
)
DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
FULL_OPTIONS: Frame = {
    "provider": None,
    "sessionId": None,
    "resumeSessionId": None,
    "resume": None,
    "apiKey": None,
    "model": "any-model",
    "systemPrompt": "Be brief.",
    "initialPrompt": None,
    "metadata": {"page": "test"},
    "permissionMode": "default",
    "dangerouslySkipPermissions": False,
    "allowDangerouslySkipPermissions": True,
    "includePartialMessages": True,
    "continueConversation": False,
    "thinkingEnabled": True,
    "baseUrl": "",
    "sandboxMode": "workspace-write",
}


class UnknownFrame(Exception):
    """The parser of the client does not know this frame."""


def check_message(data: Any) -> None:
    """Raises UnknownFrame unless this is one of the messages that the client knows."""
    kind = data.get("type")
    if kind not in KINDS or data.get("provider") is None:
        raise UnknownFrame(data)
    if kind in ("user", "assistant") and not isinstance(data["message"]["content"], list):
        raise UnknownFrame(data)
    if kind == "result" and not isinstance(data["is_error"], bool):
        raise UnknownFrame(data)
    if kind == "error" and not isinstance(data["message"], str):
        raise UnknownFrame(data)
    if kind == "stream_event":
        event = data["event"]
        name = event["type"]
        is_known = name in ("message_start", "message_delta", "message_stop") or (
            isinstance(event["index"], int)
            and (
                name == "content_block_stop"
                or (name == "content_block_start" and isinstance(event["content_block"], dict))
                or (name == "content_block_delta" and event["delta"]["type"] in DELTAS)
            )
        )
        if not (is_known and isinstance(data["uuid"], str) and isinstance(data["session_id"], str)):
            raise UnknownFrame(data)


def check_frame(frame: Any, *, is_text: bool = False) -> None:
    """Raises UnknownFrame unless the client knows this frame. `is_text`: it reads errors as text."""
    if not isinstance(frame, dict) or not isinstance(frame.get("id"), str):
        raise UnknownFrame(frame)
    if "method" in frame:
        if frame["method"] not in ("AskUserQuestion", "RequestPermission"):
            raise UnknownFrame(frame)
    elif frame.get("type") == "stream":
        check_message(frame["data"])
    elif "type" in frame:
        if frame["type"] != "complete":
            raise UnknownFrame(frame)
    elif frame["result"] is None:
        if not (frame["error"] if is_text else frame["error"]["message"]):
            raise UnknownFrame(frame)
        if is_text is not isinstance(frame["error"], str):
            raise UnknownFrame(frame)
    elif frame["error"] is not None:
        raise UnknownFrame(frame)


class Message:
    """A message on the screen."""

    def __init__(self, role: str, own_id: str | None = None) -> None:
        self.role = role
        self.id = own_id
        self.blocks: dict[int, Frame] = {}
        self.final: set[int] = set()

    def start(self, index: int, block: Frame) -> None:
        self.blocks[index] = dict(block)
        self.final.discard(index)

    def grow(self, index: int, delta: Frame) -> None:
        block, name = self.blocks[index], DELTAS[delta["type"]]
        if index not in self.final:
            block[name] = block.get(name, "") + delta[name]

    def finish(self, block: Frame) -> None:
        """The final block replaces the streamed one of its kind, or of its tool call."""
        for index, old in sorted(self.blocks.items()):
            same = old["type"] == block["type"] and old.get("id") == block.get("id")
            if same and (index not in self.final or block["type"] == "tool_use"):
                self.blocks[index] = block
                self.final.add(index)
                return
        index = max(self.blocks, default=-1) + 1
        self.blocks[index] = block
        self.final.add(index)


class Screen:
    """What a person sees."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: dict[str, Frame] = {}
        self.ends: list[str] = []  # how each turn has ended
        self.errors: list[str] = []
        self._streaming: Message | None = None

    def said(self, content: list[Frame]) -> None:
        """The person has sent this."""
        message = Message("user")
        for block in content:
            message.finish(block)
        self.messages.append(message)

    def show(self, data: Frame, *, is_live: bool = True) -> None:
        match data["type"]:
            case "stream_event":
                self._event(data["event"])
            case "assistant":
                self._assistant(data["message"])
            case "user":
                self._user(data["message"]["content"])
            case "result" if is_live:
                self.ends.append(data["subtype"])
                if data["is_error"]:
                    self.errors.append(data["result"])
            case _:
                pass

    def _event(self, event: Frame) -> None:
        match event["type"]:
            case "message_start":
                own_id = (event.get("message") or {}).get("id")
                self._streaming = self._with(own_id)
            case "content_block_start":
                self._now().start(event["index"], event["content_block"])
            case "content_block_delta":
                self._now().grow(event["index"], event["delta"])
            case "message_stop":
                self._streaming = None
            case _:
                pass

    def _now(self) -> Message:
        assert self._streaming is not None, "a block of no message"
        return self._streaming

    def _with(self, own_id: str | None) -> Message:
        for message in self.messages:
            if own_id is not None and message.id == own_id:
                return message
        self.messages.append(Message("assistant", own_id))
        return self.messages[-1]

    def _assistant(self, body: Frame) -> None:
        message = self._with(body.get("id"))
        for block in body["content"]:
            message.finish(block)

    def _user(self, content: list[Frame]) -> None:
        results = [block for block in content if block["type"] == "tool_result"]
        for block in results:
            assert block["tool_use_id"] not in self.results, "a second result"
            self.results[block["tool_use_id"]] = block
        if not results:
            self.said(content)

    def load(self, history: list[Frame]) -> Screen:
        """The screen of the history, with the blocks that grow on this one."""
        new = Screen()
        new.ends, new.errors = self.ends, self.errors
        for data in history:
            new.show(data, is_live=False)
        for old in self.messages:
            for index, block in old.blocks.items():
                if index not in old.final and old is self._streaming:
                    message = new._with(old.id)
                    message.blocks[index] = block
        if self._streaming is not None:
            new._streaming = new._with(self._streaming.id)
        return new

    def shown(self) -> list[Shown]:
        """Returns what is shown, in order. Empty blocks are not."""
        out: list[Shown] = []
        for message in self.messages:
            for _, block in sorted(message.blocks.items()):
                match block["type"]:
                    case "text" if block["text"]:
                        out.append((message.role, "text", block["text"]))
                    case "thinking" if block["thinking"]:
                        out.append((message.role, "thinking", block["thinking"]))
                    case "tool_use":
                        result = self.results.get(block["id"])
                        ended = None if result is None else bool(result.get("is_error"))
                        out.append((message.role, "tool", block["id"], ended))
                    case _:
                        pass
        return out


class ClassicClient:
    """One page: its socket, its calls and its screen."""

    ahead: int | None = None  # messages that it takes without reading them; none: all

    def __init__(
        self,
        url: str,
        token: str,
        *,
        is_text: bool = False,
        more: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        """`is_text`: the client reads errors as text, as the small generic one does.

        `more`: more of the address, which the page was configured with. `headers`: those that the
        browser adds by itself; the client itself can set none. None: those of a program.
        """
        self.address = url.replace("http", "ws", 1) + "/ws/rpc?profile=classic"
        self.address += ("&errors=text" if is_text else "") + more
        self.is_text = is_text
        self.headers = {"Authorization": f"Bearer {token}"} if headers is None else headers
        self.session_id: str | None = None
        self.capabilities: Frame = {}
        self.screen = Screen()
        self.frames: list[Frame] = []
        self.calls: list[Frame] = []  # of the server, not answered yet
        self.decide: Callable[[Frame], Any] | None = None  # answers calls at once
        self.pending: dict[str, asyncio.Future[Any]] = {}
        self._numbers = count(1)
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.fault: Exception | None = None

    # --- the socket -------------------------------------------------------------------------------

    async def open(self) -> ClassicClient:
        self._socket = await connect(
            self.address,
            additional_headers=self.headers,
            max_size=None,
            max_queue=self.ahead,
            open_timeout=PATIENCE,
            ping_timeout=PATIENCE,
            proxy=None,
            compression=None,
        )
        self.pending, self.calls, self.frames = {}, [], []
        self._reading = asyncio.create_task(self._read(self._socket))
        return self

    async def __aenter__(self) -> ClassicClient:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        assert self._socket is not None
        await self._socket.close()
        await self.until_closed()

    def drop(self) -> None:
        """The line breaks: no goodbye."""
        assert self._socket is not None
        self._socket.transport.abort()

    async def until_closed(self) -> int:
        assert self._reading is not None
        assert self._socket is not None
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([self._reading])
        if self.fault is not None:
            raise self.fault
        return self._socket.close_code or 1006

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for raw in socket:
                frame = json.loads(raw)
                check_frame(frame, is_text=self.is_text)
                self._take(frame)
                self._news.set()
        except ConnectionClosed:
            pass
        except Exception as error:
            self.fault = error
        finally:
            self._news.set()
            for waiting in self.pending.values():
                if not waiting.done():
                    waiting.cancel()

    def _take(self, frame: Frame) -> None:
        self.frames.append(frame)
        if "method" in frame:
            self.calls.append(frame)
            if self.decide is not None:
                self._later(self.reply(frame, self.decide(frame)))
            return
        if frame.get("type") == "stream":
            self.screen.show(frame["data"])
            return
        waiting = self.pending.pop(frame["id"], None)
        if frame.get("type") == "complete":
            assert waiting is not None, "the end of a call that was answered already"
            waiting.set_result({"status": "complete"})
        elif waiting is not None and not waiting.done():
            if frame["error"] is not None:
                error = frame["error"]
                waiting.set_exception(RuntimeError(error if self.is_text else error["message"]))
            else:
                waiting.set_result(frame["result"])
                if frame["result"].get("status") == "interrupted":
                    self.screen.ends.append("interrupted")

    def _later(self, work: Any) -> None:
        self._replying = asyncio.ensure_future(work)

    # --- calls ------------------------------------------------------------------------------------

    async def begin(self, method: str, params: Any = None) -> asyncio.Future[Any]:
        """Sends a call. Returns its answer to come."""
        assert self._socket is not None
        own_id = f"req-{next(self._numbers)}"
        answer = self.pending[own_id] = asyncio.get_running_loop().create_future()
        frame = {"id": own_id, "method": method}
        if params is not None:
            frame["params"] = params
        await self._socket.send(json.dumps(frame))
        return answer

    async def call(self, method: str, params: Any = None) -> Any:
        answer = await self.begin(method, params)
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def reply(self, call: Frame, result: Any) -> None:
        assert self._socket is not None
        self.calls.remove(call)
        await self._socket.send(json.dumps({"id": call["id"], "result": result}))

    async def fail(self, call: Frame, said: str) -> None:
        """Answers that this client cannot answer the call."""
        assert self._socket is not None
        self.calls.remove(call)
        await self._socket.send(json.dumps({"id": call["id"], "error": said}))

    async def until(self, that: Callable[[], Any]) -> Any:
        """Waits until something is true of what this client has received."""
        async with asyncio.timeout(PATIENCE):
            while not (found := that()):
                if self.fault is not None:
                    raise self.fault
                assert self._reading is not None
                if self._reading.done():
                    raise ConnectionError
                self._news.clear()
                await self._news.wait()
        return found

    async def join(self, **options: Any) -> Frame:
        result: Frame = await self.call("connect", {**FULL_OPTIONS, **options})
        self.session_id = result["sessionId"]
        self.capabilities = result["capabilities"]
        return result

    async def reload(self) -> None:
        """Opens the page anew: an empty screen, then the history."""
        self.screen = Screen()
        await self.join(resume=self.session_id)
        await self.load()

    async def load(self) -> None:
        """Loads the history at the very place in the stream where its answer came."""
        number = f"req-{next(self._numbers)}"
        answer = self.pending[number] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: None)
        take = self._take

        def taken(frame: Frame) -> None:
            if frame.get("id") == number and frame.get("result") is not None:
                for data in frame["result"]["messages"]:
                    check_message(data)
                self.screen = self.screen.load(frame["result"]["messages"])
            take(frame)

        self._take = taken  # type: ignore[method-assign]
        assert self._socket is not None
        await self._socket.send(json.dumps({"id": number, "method": "getHistory"}))
        async with asyncio.timeout(PATIENCE):
            await answer
        del self._take

    async def say(self, text: str) -> asyncio.Future[Any]:
        """Sends a message and shows it. Returns its end to come."""
        self.screen.said([{"type": "text", "text": text}])
        return await self.begin("query", {"message": text})

    async def ask(self, text: str) -> None:
        answer = await self.say(text)
        async with asyncio.timeout(PATIENCE):
            await answer
