"""The settings of an engine."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from turnwire.core.conversation.budget import BudgetPeriod
from turnwire.core.conversation.state import Options

__all__ = ["EngineSettings"]


class EngineSettings(Struct, frozen=True):
    """Leases, buffers, budgets and limits of an engine."""

    options: Options = Options()  # of new conversations
    agent_idle: float = 120.0  # seconds without a turn, until the agent's process is closed
    lease: float = 10.0  # seconds until another process may take over a conversation
    node: str | None = None  # the name of this process among others; None: of the machine
    # Where the files of agents are. `shared`: every node has the same directories. `pinned`: a
    # conversation stays on the node that it was created on.
    placement: Literal["shared", "pinned"] = "shared"
    # The nodes run on several machines. A session that cannot be moved then pins its conversation.
    has_several_machines: bool = False
    # Other nodes share the store: the start does not wait for the recovery after a crash.
    recover_in_background: bool = False
    recheck: float = 2.0  # seconds between reads of what other processes have written
    save_every: float = 1.0  # seconds between two saves of the partials; 0: they are not saved
    buffer: int = 10_000  # frames that may wait for a slow follower
    buffer_bytes: int = 16 << 20  # about the maximum of their bytes
    max_frame_bytes: int = 1 << 20
    heartbeat_seconds: int = 15
    budget_usd_per_user: float | None = None  # for all conversations of a user; None: no limit
    budget_period: BudgetPeriod = "month"  # after which the budget is available again, in UTC
    # Directories that agents may work in, with all below them. None: any. Empty: only their own.
    roots: list[str] | None = None
    max_agents_per_user: int | None = None  # running agents; the owner of the data has no limit
