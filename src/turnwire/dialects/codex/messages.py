"""The messages of the app-server: notifications, requests to the host, and answers to it."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Raw, Struct, field

from turnwire.dialects.codex.items import ThreadItem
from turnwire.dialects.codex.notices import NOTICES

__all__ = [
    "NEWS",
    "NOTICES",
    "NOTIFICATIONS",
    "REQUESTS",
    "AgentMessageDelta",
    "Asked",
    "Attestation",
    "CodexMessage",
    "CommandApproval",
    "CurrentTimeRead",
    "ElicitationRequest",
    "ErrorTold",
    "ExecApproval",
    "Failed",
    "FileChangeApproval",
    "ItemCompleted",
    "ItemStarted",
    "McpProgress",
    "News",
    "OutputDelta",
    "PatchApproval",
    "PermissionsApproval",
    "PlanDelta",
    "PlanStep",
    "PlanUpdated",
    "ReasoningTextDelta",
    "RequestId",
    "RequestResolved",
    "Result",
    "SummaryTextDelta",
    "Thread",
    "ThreadNamed",
    "ThreadOpened",
    "ThreadStarted",
    "TokenCounts",
    "TokenUsage",
    "TokenUsageUpdated",
    "TokensRefresh",
    "ToolCallRequest",
    "Turn",
    "TurnCompleted",
    "TurnError",
    "TurnStarted",
    "UnknownMessage",
    "UserInputOption",
    "UserInputQuestion",
    "UserInputRequest",
]

RequestId: TypeAlias = int | str


class _Part(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


# --- parts of messages ----------------------------------------------------------------------------


class TurnError(_Part, frozen=True):
    """An error of the model or of Codex."""

    message: str = ""
    codex_error_info: Any = None  # a word, or an object with one key and an HTTP status
    additional_details: str | None = None
    misalignment: Any = None


class Turn(_Part, frozen=True):
    """A turn of a thread."""

    id: str
    status: str = "inProgress"  # inProgress, completed, interrupted, failed
    error: TurnError | None = None
    duration_ms: int | None = None
    items: list[ThreadItem] = []
    items_view: str | None = None  # which items are in it: all, or a part
    root_turn_id: str | None = None
    started_at: int | None = None
    completed_at: int | None = None


class Thread(_Part, frozen=True):
    """A thread: one session of Codex."""

    id: str
    session_id: str | None = None
    preview: str | None = None
    name: str | None = None
    cwd: str | None = None
    path: str | None = None  # of Codex's own record
    model: str | None = None
    model_provider: str | None = None
    reasoning_effort: str | None = None
    cli_version: str | None = None
    source: Any = None  # cli, exec, appServer, ...
    originator: str | None = None
    status: Any = None
    turns: list[Turn] = []
    created_at: int | None = None
    updated_at: int | None = None
    recency_at: int | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    thread_source: Any = None
    agent_nickname: str | None = None
    agent_role: str | None = None
    project_id: str | None = None
    section: Any = None
    section_entered_at: int | None = None
    environments: Any = None
    git_info: Any = None
    history_mode: Any = None
    ephemeral: bool = False
    can_accept_direct_input: bool | None = None
    daybreak_enabled: bool | None = None
    extra: Any = None


class PlanStep(_Part, frozen=True):
    """A step of the plan."""

    step: str = ""
    status: str = "pending"  # pending, inProgress, completed


class TokenCounts(_Part, frozen=True):
    """Tokens. `input_tokens` includes the cached ones."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class TokenUsage(_Part, frozen=True):
    """The tokens of a thread."""

    total: TokenCounts = TokenCounts()
    last: TokenCounts = TokenCounts()  # of the last request to the model
    model_context_window: int | None = None


# --- notifications --------------------------------------------------------------------------------


class _OfThread(_Part, frozen=True, kw_only=True):
    thread_id: str = ""


class _OfTurn(_OfThread, frozen=True, kw_only=True):
    turn_id: str = ""


class ThreadStarted(_Part, frozen=True):
    """A thread was started, resumed or forked."""

    thread: Thread


class ThreadNamed(_OfThread, frozen=True):
    """The thread has a name."""

    thread_name: str | None = None


class TurnStarted(_OfThread, frozen=True):
    """A turn has begun."""

    turn: Turn


class TurnCompleted(_OfThread, frozen=True):
    """A turn has ended."""

    turn: Turn


class ItemStarted(_OfTurn, frozen=True):
    """An item has begun."""

    item: ThreadItem
    started_at_ms: int = 0


class ItemCompleted(_OfTurn, frozen=True):
    """An item is complete."""

    item: ThreadItem
    completed_at_ms: int = 0


class AgentMessageDelta(_OfTurn, frozen=True):
    """A piece of text."""

    item_id: str
    delta: str


class PlanDelta(_OfTurn, frozen=True):
    """A piece of a plan's text."""

    item_id: str
    delta: str


class SummaryTextDelta(_OfTurn, frozen=True):
    """A piece of a summary of reasoning."""

    item_id: str
    delta: str
    summary_index: int = 0


class ReasoningTextDelta(_OfTurn, frozen=True):
    """A piece of raw reasoning."""

    item_id: str
    delta: str
    content_index: int = 0


class OutputDelta(_OfTurn, frozen=True):
    """Output of a command or of a patch that runs."""

    item_id: str
    delta: str


class McpProgress(_OfTurn, frozen=True):
    """Progress of a call of an MCP tool."""

    item_id: str
    message: str = ""


class PlanUpdated(_OfTurn, frozen=True):
    """The complete plan."""

    plan: list[PlanStep] = []
    explanation: str | None = None


class TokenUsageUpdated(_OfTurn, frozen=True):
    """Tokens of the thread, after each request to the model."""

    token_usage: TokenUsage


class ErrorTold(_OfTurn, frozen=True):
    """An error. With `will_retry` Codex repeats the request to the model."""

    error: TurnError
    will_retry: bool = False


class RequestResolved(_OfThread, frozen=True):
    """A request to the host has ended: answered, or withdrawn."""

    request_id: RequestId


# --- requests to the host -------------------------------------------------------------------------


class CommandApproval(_OfTurn, frozen=True):
    """Codex asks whether it may run a command."""

    item_id: str
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    command_actions: list[Any] | None = None
    available_decisions: list[Any] | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    proposed_network_policy_amendments: list[Any] | None = None
    network_approval_context: Any = None
    additional_permissions: Any = None
    approval_id: str | None = None  # of a part of the command
    environment_id: str | None = None
    kind: str | None = None
    started_at_ms: int = 0


class FileChangeApproval(_OfTurn, frozen=True):
    """Codex asks whether it may change files."""

    item_id: str
    reason: str | None = None
    grant_root: str | None = None
    started_at_ms: int = 0


class PermissionsApproval(_OfTurn, frozen=True):
    """Codex asks for more permissions of its sandbox."""

    item_id: str
    permissions: Any = None
    cwd: str | None = None
    reason: str | None = None
    environment_id: str | None = None
    started_at_ms: int = 0


class UserInputOption(_Part, frozen=True):
    """An option of a question."""

    label: str = ""
    description: str | None = None


class UserInputQuestion(_Part, frozen=True):
    """A question to a person."""

    id: str = ""
    question: str = ""
    header: str | None = None
    is_other: bool = False  # free text is allowed
    is_secret: bool = False  # refused: see `refusal_of`
    options: list[UserInputOption] | None = None


class UserInputRequest(_OfTurn, frozen=True):
    """Codex asks a person."""

    item_id: str
    questions: list[UserInputQuestion] = []
    # false: Codex's own front ends may go on without an answer. Turnwire always waits for a person.
    is_blocking: bool = True
    auto_resolution_ms: int | None = None  # the older form of it


class ToolCallRequest(_OfTurn, frozen=True):
    """Codex has the host run one of its tools."""

    call_id: str
    tool: str
    arguments: Any = None
    namespace: str | None = None

    @property
    def item_id(self) -> str:
        """Returns the item that waits: the call."""
        return self.call_id


class ElicitationRequest(_OfThread, frozen=True):
    """An MCP server asks a person."""

    server_name: str = ""
    turn_id: str | None = None  # null: outside of a turn
    mode: str | None = None  # form, openai/form, openaiForm, url, openai/userVerification
    message: str = ""
    requested_schema: Any = None
    url: str | None = None
    elicitation_id: str | None = None
    title: str | None = None
    description: str | None = None
    challenge: str | None = None
    meta: Any = field(default=None, name="_meta")


# Not for a person: Codex asks the program that runs it.


class TokensRefresh(_Part, frozen=True):
    """Codex asks for new tokens of an account that the host has logged in."""

    reason: str = ""
    previous_account_id: str | None = None


class Attestation(_Part, frozen=True):
    """Codex asks for a proof of the host."""


class CurrentTimeRead(_OfThread, frozen=True):
    """Codex asks for the time."""


class PatchApproval(_Part, frozen=True):
    """Asks whether files may be changed: for hosts of older versions."""

    call_id: str
    conversation_id: str = ""
    file_changes: dict[str, Any] = {}
    grant_root: str | None = None
    reason: str | None = None


class ExecApproval(_Part, frozen=True):
    """Asks whether a command may run: for hosts of older versions."""

    call_id: str
    conversation_id: str = ""
    approval_id: str | None = None
    command: list[str] = []
    cwd: str = ""
    parsed_cmd: list[Any] = []
    reason: str | None = None


# --- answers to the host --------------------------------------------------------------------------


class ThreadOpened(_Part, frozen=True):
    """The answer to thread/start, thread/resume and thread/fork."""

    thread: Thread
    model: str | None = None
    model_provider: str | None = None
    cwd: str | None = None
    approval_policy: Any = None
    sandbox: Any = None
    reasoning_effort: str | None = None


# --- messages -------------------------------------------------------------------------------------


class Asked(Struct, frozen=True, gc=False):
    """A request of Codex to the host."""

    id: RequestId
    method: str
    params: Any  # one of REQUESTS


class Result(Struct, frozen=True, gc=False):
    """The answer to a request of the host."""

    id: RequestId
    result: Raw


class Failed(Struct, frozen=True, gc=False):
    """The refusal of a request of the host."""

    id: RequestId | None
    code: int
    message: str
    data: Any = None


class News(Struct, frozen=True, gc=False):
    """A known notification that is news."""

    method: str
    thread_id: str
    told: Any = None  # one of NOTICES; None: it is only passed on


class UnknownMessage(Struct, frozen=True, gc=False):
    """A message of a kind that this version does not know, or that it cannot read."""

    method: str
    id: RequestId | None = None
    reason: str | None = None  # why it could not be read, if its method is known


CodexMessage: TypeAlias = (
    ThreadStarted
    | ThreadNamed
    | TurnStarted
    | TurnCompleted
    | ItemStarted
    | ItemCompleted
    | AgentMessageDelta
    | PlanDelta
    | SummaryTextDelta
    | ReasoningTextDelta
    | OutputDelta
    | McpProgress
    | PlanUpdated
    | TokenUsageUpdated
    | ErrorTold
    | RequestResolved
    | Asked
    | Result
    | Failed
    | News
    | UnknownMessage
)

NOTIFICATIONS: dict[str, type[Struct]] = {
    "thread/started": ThreadStarted,
    "thread/name/updated": ThreadNamed,
    "turn/started": TurnStarted,
    "turn/completed": TurnCompleted,
    "turn/plan/updated": PlanUpdated,
    "item/started": ItemStarted,
    "item/completed": ItemCompleted,
    "item/agentMessage/delta": AgentMessageDelta,
    "item/plan/delta": PlanDelta,
    "item/reasoning/summaryTextDelta": SummaryTextDelta,
    "item/reasoning/textDelta": ReasoningTextDelta,
    "item/commandExecution/outputDelta": OutputDelta,
    "item/fileChange/outputDelta": OutputDelta,
    "item/mcpToolCall/progress": McpProgress,
    "thread/tokenUsage/updated": TokenUsageUpdated,
    "serverRequest/resolved": RequestResolved,
    "error": ErrorTold,
}
"""The notifications with typed fields, by their methods."""

# The other notifications of version 0.163, typed if they are in NOTICES. True: kept in the log; False: only about the moment.
NEWS: dict[str, bool] = {
    "thread/compacted": True,
    "thread/archived": True,
    "thread/deleted": True,
    "thread/unarchived": True,
    "thread/reverted": True,
    "thread/goal/updated": True,
    "thread/goal/cleared": True,
    "hook/completed": True,
    "model/rerouted": True,
    "model/verification": True,
    "warning": True,
    "guardianWarning": True,
    "deprecationNotice": True,
    "item/autoApprovalReview/completed": True,
    "autoApprovalReview/strictReviewRequired": True,
    "mcpServer/oauthLogin/completed": True,
    "modelProvider/authRecoveryStarted": True,
    "modelProvider/authRecoveryCompleted": True,
    "windows/worldWritableWarning": True,
    "account/login/completed": True,
    "thread/realtime/error": True,
    **dict.fromkeys(
        [
            "configWarning",  # repeated by every process
            "thread/status/changed",
            "thread/readState/changed",
            "thread/closed",
            "skills/changed",
            "thread/attachment/updated",
            "thread/prediction/updated",
            "thread/queue/changed",
            "project/changed",
            "thread/project/updated",
            "thread/environment/connected",
            "thread/environment/disconnected",
            "thread/settings/updated",
            "hook/started",
            "turn/diff/updated",
            "item/autoApprovalReview/started",
            "command/exec/outputDelta",
            "process/outputDelta",
            "process/exited",
            "item/commandExecution/terminalInteraction",
            "item/fileChange/patchUpdated",
            "mcpServer/startupStatus/updated",
            "mcpServer/event/stream/notification",
            "account/updated",
            "account/gatewayOAuth/changed",
            "account/rateLimits/updated",
            "app/list/updated",
            "remoteControl/status/changed",
            "externalAgentConfig/import/progress",
            "externalAgentConfig/import/completed",
            "fs/changed",
            "item/reasoning/summaryPartAdded",
            "turn/moderationMetadata",
            "model/safetyBuffering/updated",
            "fuzzyFileSearch/sessionUpdated",
            "fuzzyFileSearch/sessionCompleted",
            "thread/realtime/started",
            "thread/realtime/itemAdded",
            "thread/realtime/item/started",
            "thread/realtime/item/transcript/delta",
            "thread/realtime/item/completed",
            "thread/realtime/transcript/delta",
            "thread/realtime/transcript/done",
            "thread/realtime/outputAudio/delta",
            "thread/realtime/sdp",
            "thread/realtime/closed",
            "windowsSandbox/setupCompleted",
        ],
        False,
    ),
}
"""The notifications that are news, and whether the log keeps them."""

REQUESTS: dict[str, type[Struct]] = {
    "item/commandExecution/requestApproval": CommandApproval,
    "item/fileChange/requestApproval": FileChangeApproval,
    "item/permissions/requestApproval": PermissionsApproval,
    "item/tool/requestUserInput": UserInputRequest,
    "mcpServer/elicitation/request": ElicitationRequest,
    "item/tool/call": ToolCallRequest,
    "account/chatgptAuthTokens/refresh": TokensRefresh,
    "attestation/generate": Attestation,
    "currentTime/read": CurrentTimeRead,
    "applyPatchApproval": PatchApproval,
    "execCommandApproval": ExecApproval,
}
"""The requests to the host, by their methods."""
