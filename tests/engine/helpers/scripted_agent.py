"""An agent that a test controls step by step; it keeps the rules of the agent port."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence

from tests.core.conversation.helpers.driver import whose
from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import Content
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.ports import AgentCapabilities, AgentGone, AgentSession, SessionStart


class ScriptedAgent:
    """An agent whose sessions send events only when a test, an answer or a stop causes them."""

    name = "scripted"

    def __init__(self, *, questions_survive: bool = True, steers: bool = False) -> None:
        self.capabilities = AgentCapabilities(questions_survive=questions_survive, steers=steers)
        self.refuses_messages = False  # into a running turn
        self.record: list[str] = []  # messages that turns have taken, over all processes
        self.sessions: list[ScriptedSession] = []  # all that were ever opened
        self.refuses = False  # to be opened
        self.hangs = False  # when it is opened
        self.opening = 0  # that hang at this moment
        self.obeys = True  # a stop
        self.cost: float | None = None  # of each turn, in dollars
        self.starts: list[SessionStart] = []  # of all sessions
        self.ids = 0
        self._opened = asyncio.Event()

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        if self.refuses:
            raise AgentGone("It does not want to.")
        if self.hangs:
            self.opening += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.opening -= 1
        self.starts.append(start)
        session = ScriptedSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        self._opened.set()
        return session

    @property
    def live(self) -> list[ScriptedSession]:
        """Returns the open sessions."""
        return [session for session in self.sessions if session.is_alive]

    async def opened(self) -> ScriptedSession:
        """Waits for a session that has a turn, and returns the newest."""
        while not any(session.waits for session in self.live):
            self._opened.clear()
            await self._opened.wait()
        return self.live[-1]

    def new_id(self, kind: str) -> str:
        """Returns an id that no process has used before."""
        self.ids += 1
        return f"{kind}{self.ids}"


class ScriptedSession(LocalSession):
    """A session that a test controls. Its methods do nothing where they would break the port."""

    def __init__(self, agent: ScriptedAgent, number: int) -> None:
        super().__init__()
        self.agent = agent
        self.number = number
        self.prompts: Counter[str] = Counter()  # by turn: how often it was handed over
        self.heard: set[str] = set()  # turns after whose prompt something of it was read
        self.waits: str | None = None  # a turn that was handed over and has not begun
        self.contents: list[list[Content]] = []  # of the prompts
        self.steered: asyncio.Queue[str] = asyncio.Queue()  # messages for the turn
        self.in_turn = False
        self._origin: str | None = None  # of the turn
        self.calls: list[str] = []  # without a result
        self.asked: dict[
            str, tuple[str, str]
        ] = {}  # by the id in a reply: the request's id, the call
        self.closed = asyncio.Event()
        self._requests = 0
        self._message: str | None = None  # one that grows
        self._text = ""

    @property
    def native_session_id(self) -> str | None:
        return "scripted-1"

    @property
    def is_alive(self) -> bool:
        return not self._is_over

    @property
    def has_unread(self) -> bool:
        """Returns whether an event was sent and not received yet."""
        return bool(self._out)

    # --- the port -----------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[list[ev.NormalizedStreamEvent]]:
        async for batch in super().events():
            self.heard |= self.prompts.keys()
            yield batch

    def push_batches(self, take: Callable[[list[ev.NormalizedStreamEvent]], bool]) -> None:
        def taken(batch: list[ev.NormalizedStreamEvent]) -> bool:
            is_taken = take(batch)
            if is_taken:
                self.heard |= self.prompts.keys()
            return is_taken

        super().push_batches(taken)

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        self._check_open()
        self.prompts[turn_uuid] += 1
        self.contents.append(content)
        self.waits = turn_uuid
        self.agent._opened.set()

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        self._check_open()
        if self.agent.refuses_messages:
            return False
        self.steered.put_nowait(message_id)
        return True

    async def has_taken(self, message_id: str) -> bool:
        return message_id in self.agent.record

    async def takes(self, *, reports: bool = True) -> str:
        """Takes the next message into the turn. Without `reports` only the agent knows of it."""
        message_id = await self.steered.get()
        self.agent.record.append(message_id)
        if reports:
            self._say(ev.UserMessage(*whose(), [], "user", message_id=message_id))
        return message_id

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        self._check_open()
        if resumed:
            self.begins(asked=True)
        for reply in replies:
            _, call = self.asked.pop(reply.request_id, ("", reply.request_id if resumed else ""))
            if call and self.in_turn:
                denied = reply.decision == "deny"
                self._result(call, "no" if denied else f"answer: {reply.answer}", error=denied)

    async def interrupt(self) -> None:
        self._check_open()
        if self.agent.obeys and self.in_turn:
            self.stops()

    async def close(self) -> list[EndedProcess]:
        self.closed.set()
        return await super().close()

    # --- actions of tests ---------------------------------------------------------------------

    def begins(self, *, asked: bool = False) -> None:
        """The turn that was handed over, or one of its own."""
        if not self.in_turn:
            self._origin = None if asked or self.waits else "task-notification"
            self.waits, self.in_turn = None, True
            self._say(ev.TurnStarted(*whose()))

    def speaks(self, text: str, *, finishes: bool) -> None:
        """Sends some text, which may stay unfinished."""
        if not self.in_turn:
            return
        if self._message is None:
            self._message, self._text = self.agent.new_id("m"), ""
            self._say(
                ev.MessageStarted(*whose(), self._message, "scripted"),
                ev.ContentStarted(*whose(), self._message, 0, TextBlock("", "in_progress")),
            )
        piece = f"[{self.number}] {text}"
        self._text += piece
        self._hand_over([ev.ContentDelta(*whose(), self._message, 0, "text", piece)])
        if finishes:
            self._finish_message()

    def calls_a_tool(self) -> None:
        if self.in_turn:
            self._finish_message()
            self._call("Bash")

    def reads(self, path: str) -> None:
        """A file."""
        if self.in_turn:
            self._finish_message()
            self._call("Read", path=path)

    def prints(self) -> None:
        if self.in_turn and self.calls:
            self._hand_over([ev.ToolProgress(*whose(), self.calls[-1], "Bash", 1.0, "a line\n")])

    def gets_results(self) -> None:
        """Gives every call without an open request its result."""
        if self.in_turn:
            waiting = {call for _, call in self.asked.values()}
            for call in [call for call in self.calls if call not in waiting]:
                self._result(call, "done")

    def asks(self) -> None:
        """A question, and waits."""
        if self.in_turn:
            self._finish_message()
            call = self._call("request_input")
            request_id = self._new_request_id()
            self.asked[call] = request_id, call
            self._say(ev.QuestionAsked(*whose(), request_id, call, "request_input", []))

    def wants(self) -> None:
        """Leave to run something, and waits."""
        if self.in_turn:
            self._finish_message()
            call = self._call("Bash")
            request_id = self._new_request_id()
            self.asked[request_id] = request_id, call
            self._say(ev.PermissionRequested(*whose(), request_id, call, "Bash", {"command": "rm"}))

    def withdraws(self) -> None:
        """Takes its permissions back and goes on without them."""
        for reply_to, (request_id, call) in list(self.asked.items()):
            if reply_to == request_id and self.in_turn:
                del self.asked[reply_to]
                self._say(ev.RequestWithdrawn(*whose(), request_id))
                self._result(call, "not needed", error=True)

    def ends(self) -> None:
        if self.in_turn and not self.asked:
            self._finish_message()
            self.gets_results()
            self._end(ev.TurnCompleted(*whose(), "end_turn", origin=self._origin))

    def fails(self) -> None:
        """Fails the turn at any point."""
        if self.in_turn:
            self._message = None
            self.calls, self.asked = [], {}
            failed = ev.TurnFailed(*whose(), "api_error", "It went wrong.", origin=self._origin)
            self._end(failed)

    def stops(self) -> None:
        """Ends the turn after an interrupt."""
        self._finish_message(aborted=True)
        for request_id, _ in self.asked.values():
            self._say(ev.RequestWithdrawn(*whose(), request_id))
        self.asked.clear()
        for call in list(self.calls):
            self._result(call, "interrupted", error=True)
        end = ev.TurnCompleted(*whose(), None, interrupted=True, origin=self._origin)
        self._end(end)

    def dies(self) -> None:
        """Ends the session like a killed process."""
        self._die("It was killed.")

    # --- how it is said -----------------------------------------------------------------------

    def _new_request_id(self) -> str:
        """Returns a request id; every process begins with the same one."""
        self._requests += 1
        return f"ask{self._requests}"

    def _call(self, name: str, **given: str) -> str:
        message, call = self.agent.new_id("m"), self.agent.new_id("t")
        self.calls.append(call)
        block = ToolUseBlock(call, name, "TOOL", {"by": self.number, **given}, "in_progress")
        self._whole(message, block)
        return call

    def _result(self, call: str, content: str, *, error: bool = False) -> None:
        if call in self.calls:
            self.calls.remove(call)
        block = ToolResultBlock(call, content, error, "failed" if error else "completed")
        self._say(ev.UserMessage(*whose(), [block], "tool"))

    def _whole(self, message: str, block: ContentBlock) -> None:
        self._say(
            ev.MessageStarted(*whose(), message, "scripted"),
            ev.ContentStarted(*whose(), message, 0, block),
            ev.AssistantMessage(*whose(), message, 0, [block]),
            ev.ContentCompleted(*whose(), message, 0, block),
            ev.MessageCompleted(*whose(), message, "tool_use"),
        )

    def _finish_message(self, *, aborted: bool = False) -> None:
        message, self._message = self._message, None
        if message is not None:
            block = TextBlock(self._text, "completed")
            self._say(
                ev.AssistantMessage(*whose(), message, 0, [block], aborted=aborted),
                ev.ContentCompleted(*whose(), message, 0, block),
                ev.MessageCompleted(*whose(), message, "end_turn"),
            )

    def _end(self, end: ev.TurnCompleted | ev.TurnFailed) -> None:
        self.in_turn = False
        bad = isinstance(end, ev.TurnFailed)
        said = "error" if bad else "success"
        self._say(end, ev.ResultSummary(*whose(), said, bad, cost_usd=self.agent.cost))
