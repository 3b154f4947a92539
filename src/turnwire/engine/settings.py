"""How an engine behaves where there is a choice."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.conversation.budget import BudgetPeriod
from turnwire.core.conversation.state import Options

__all__ = ["EngineSettings"]


class EngineSettings(Struct, frozen=True):
    """How an engine behaves where there is a choice."""

    options: Options = Options()  # of new conversations
    agent_idle: float = 120.0  # seconds without a turn, until the agent's process is closed
    lease: float = 10.0  # seconds until another process may take a conversation over
    recheck: float = 2.0  # seconds between looks at what another process may have written
    save_every: float = 1.0  # seconds between two saves of a block that grows; 0: it is not saved
    buffer: int = 10_000  # frames that may wait for a slow follower
    buffer_bytes: int = 16 << 20  # about how many bytes they may have
    max_frame_bytes: int = 1 << 20
    heartbeat_seconds: int = 15
    budget_usd_per_user: float | None = None  # of all their conversations; none: without a limit
    budget_period: BudgetPeriod = "month"  # in which it may be spent, in UTC
    # Agents may work below these directories; none: in any; empty: in no other than their own.
    roots: list[str] | None = None
    max_agents_per_user: int | None = None  # that run at once; the owner of the data has no limit
