"""An agent that claims every ability, and lacks one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import uuid4

from msgspec import UNSET, UnsetType

from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content, ImageContent, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentCapabilities, AgentSession, SessionPiece, SessionStart

# fine: lacks nothing; blind: fails at a picture; stubborn: refuses a mode; lonely: fails in a fork;
# closed: hands over no piece; repeating: hands over each piece twice; confused: pieces of another;
# greedy: takes a message without a turn; stammering: takes it twice; slow: takes it in the next turn
Lack = Literal[
    "fine",
    "blind",
    "stubborn",
    "lonely",
    "closed",
    "repeating",
    "confused",
    "greedy",
    "stammering",
    "slow",
]


class Boaster:
    """See the module."""

    name = "boaster"
    capabilities = AgentCapabilities(
        images=True, models=["small"], permission_modes=["careful"], forks=True, steers=True
    )

    def __init__(self, lack: Lack) -> None:
        self.lack = lack

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        return BoasterSession(self.lack, start)


class BoasterSession(LocalSession):
    """Answers every prompt with one word."""

    is_mirrored = True

    def __init__(self, lack: Lack, start: SessionStart) -> None:
        super().__init__()
        self._lack = lack
        self._is_fork = start.fork is not None
        self.native_session_id = start.native_session_id or uuid4().hex
        self._whose = ("boaster", self.native_session_id, None, None)
        self._pieces: list[SessionPiece] = []
        self._is_long = False  # a turn runs until it gets a message, or is stopped
        self._late: list[str] = []  # messages for a turn that takes them too late

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        self._check_open()
        has_picture = any(isinstance(each, ImageContent) for each in content)
        lack, whose = self._lack, self._whose
        fails = (lack == "blind" and has_picture) or (lack == "lonely" and self._is_fork)
        end: ev.TurnFailed | ev.TurnCompleted = ev.TurnCompleted(*whose, "end_turn")
        if fails:
            end = ev.TurnFailed(*whose, "overwhelmed", "This is too much.")
        if lack != "closed":
            of = "another" if lack == "confused" else self.native_session_id
            self._pieces.append(SessionPiece(of, "talk", b"{}"))
        said = ev.AssistantMessage(*whose, uuid4().hex, 0, [TextBlock("Yes.", "completed")])
        self._say(ev.TurnStarted(*whose), *map(self._taking, self._late), said)
        self._late.clear()
        if content == [TextContent("long")]:
            self._is_long = True
        else:
            self._say(end, ev.ResultSummary(*whose, "success", fails))

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        self._check_open()
        if not self._is_long:
            return self._lack == "greedy"
        if self._lack == "slow":
            self._late.append(message_id)
        else:
            times = 2 if self._lack == "stammering" else 1
            self._say(*[self._taking(message_id)] * times)
        await self.interrupt()
        return True

    async def has_taken(self, message_id: str) -> bool:
        return False

    def _taking(self, message_id: str) -> NormalizedStreamEvent:
        block = TextBlock("Hello.", "completed")
        return ev.UserMessage(*self._whose, [block], "user", message_id=message_id)

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        if self._lack == "stubborn" and permission_mode is not None:
            wanted = ev.Choice(permission_mode=permission_mode)
            self._say(
                ev.ChoiceRefused(*self._whose, "choice_refused", wanted=wanted, stays=ev.Choice())
            )

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        self._check_open()

    async def interrupt(self) -> None:
        self._check_open()
        if self._is_long:
            self._is_long = False
            stopped = ev.TurnCompleted(*self._whose, interrupted=True)
            self._say(stopped, ev.ResultSummary(*self._whose, "stopped", False))

    @property
    def has_pieces(self) -> bool:
        return bool(self._pieces)

    async def take_pieces(self) -> list[SessionPiece]:
        taken = self._pieces
        if self._lack != "repeating":
            self._pieces = []
        return taken
