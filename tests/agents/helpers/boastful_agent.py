"""An agent that claims every ability, and lacks one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import uuid4

from msgspec import UNSET, UnsetType

from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content, ImageContent
from turnwire.core.conversation.state import Reply
from turnwire.ports import AgentCapabilities, AgentSession, SessionPiece, SessionStart

# fine: lacks nothing; blind: fails at a picture; stubborn: refuses a mode; lonely: fails in a fork;
# closed: hands over no piece; repeating: hands over each piece twice; confused: pieces of another
Lack = Literal["fine", "blind", "stubborn", "lonely", "closed", "repeating", "confused"]


class Boaster:
    """See the module."""

    name = "boaster"
    capabilities = AgentCapabilities(
        images=True, models=["small"], permission_modes=["careful"], forks=True
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
        summary = ev.ResultSummary(*whose, "success", fails)
        self._say(ev.TurnStarted(*whose), said, end, summary)

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

    @property
    def has_pieces(self) -> bool:
        return bool(self._pieces)

    async def take_pieces(self) -> list[SessionPiece]:
        taken = self._pieces
        if self._lack != "repeating":
            self._pieces = []
        return taken
