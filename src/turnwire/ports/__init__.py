"""The ports of the engine: interfaces of an agent, a store, a bus, a clock and a projector.

Each port documents its guarantees about order, atomicity and loss. An implementation can be
verified with the checks in `turnwire.testing`.
"""

from turnwire.ports.agent import (
    Agent,
    AgentCapabilities,
    AgentGone,
    AgentsBusy,
    AgentSession,
    AgentUser,
    ChecksOptions,
    ForgetsSessions,
    Isolation,
    NativeFork,
    PreparesSessions,
    RunsCommands,
    SessionStart,
)
from turnwire.ports.bus import Bus
from turnwire.ports.clock import Clock, Timer
from turnwire.ports.lease import Lease
from turnwire.ports.projector import Projected, Projector, WireProtocol
from turnwire.ports.rows import (
    AuditRow,
    BlobRow,
    Claim,
    Commit,
    Connection,
    ConversationRow,
    ForkPlace,
    Hit,
    InboxItem,
    NewConversation,
    Receipt,
    RequestRow,
    Reserved,
    Stored,
    StoredEntry,
    StoredTurn,
    Ticket,
    Token,
)
from turnwire.ports.storage_errors import (
    Conflict,
    Damaged,
    Fenced,
    OverQuota,
    Owned,
    StorageUnavailable,
)
from turnwire.ports.store import Store

__all__ = [
    "Agent",
    "AgentCapabilities",
    "AgentGone",
    "AgentSession",
    "AgentUser",
    "AgentsBusy",
    "AuditRow",
    "BlobRow",
    "Bus",
    "ChecksOptions",
    "Claim",
    "Clock",
    "Commit",
    "Conflict",
    "Connection",
    "ConversationRow",
    "Damaged",
    "Fenced",
    "ForgetsSessions",
    "ForkPlace",
    "Hit",
    "InboxItem",
    "Isolation",
    "Lease",
    "NativeFork",
    "NewConversation",
    "OverQuota",
    "Owned",
    "PreparesSessions",
    "Projected",
    "Projector",
    "Receipt",
    "RequestRow",
    "Reserved",
    "RunsCommands",
    "SessionStart",
    "StorageUnavailable",
    "Store",
    "Stored",
    "StoredEntry",
    "StoredTurn",
    "Ticket",
    "Timer",
    "Token",
    "WireProtocol",
]
