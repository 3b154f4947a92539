"""Notifications that are news: about a thread, its turns and items, the model, and the account."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from turnwire.dialects.codex.items import FileUpdate

__all__ = [
    "NOTICES",
    "AccountUpdated",
    "ApprovalReview",
    "ApprovalReviewCompleted",
    "ApprovalReviewStarted",
    "AttachmentUpdated",
    "AuthRecovery",
    "ConfigWarning",
    "Credits",
    "DeprecationNotice",
    "DiffUpdated",
    "EnvironmentTold",
    "GatewayOAuthChanged",
    "Goal",
    "GoalUpdated",
    "GuardianWarning",
    "HookEntry",
    "HookRun",
    "HookTold",
    "LoginCompleted",
    "McpLoginCompleted",
    "McpStatusUpdated",
    "ModelRerouted",
    "ModelVerification",
    "ModerationMetadata",
    "PatchUpdated",
    "PredictionUpdated",
    "ProjectUpdated",
    "RateLimits",
    "RateLimitsUpdated",
    "RateWindow",
    "ReadStateChanged",
    "SafetyBuffering",
    "SettingsUpdated",
    "SkillsChanged",
    "SpendLimit",
    "StatusChanged",
    "StrictReviewRequired",
    "SummaryPartAdded",
    "TerminalInteraction",
    "ThreadSettings",
    "ThreadTold",
    "TurnTold",
    "Warned",
]


class _Part(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False, kw_only=True):
    pass


class ThreadTold(_Part, frozen=True):
    """News about a thread that needs no more words."""

    thread_id: str = ""


class TurnTold(ThreadTold, frozen=True):
    """News about a turn that needs no more words."""

    turn_id: str = ""


# --- threads --------------------------------------------------------------------------------------


class StatusChanged(ThreadTold, frozen=True):
    """A thread works, waits or is idle."""

    status: Any = None


class ReadStateChanged(ThreadTold, frozen=True):
    """A person has read a thread, in a front end of Codex."""

    read_state: Any = None


class AttachmentUpdated(ThreadTold, frozen=True):
    """Something was attached to a thread, or detached."""

    attachment_id: str = ""
    attachment_type: str = ""
    identity_key: str = ""
    operation: str = ""  # created, deleted


class Goal(ThreadTold, frozen=True):
    """What a thread works towards."""

    objective: str = ""
    status: str = ""
    token_budget: int | None = None
    tokens_used: int = 0
    time_used_seconds: int = 0
    created_at: int = 0
    updated_at: int = 0


class GoalUpdated(ThreadTold, frozen=True):
    """A thread has a goal, or more work towards it was done."""

    goal: Goal = Goal()
    turn_id: str | None = None


class PredictionUpdated(ThreadTold, frozen=True):
    """What a person may say next, as Codex guesses."""

    source_turn_id: str = ""
    result: Any = None


class ProjectUpdated(ThreadTold, frozen=True):
    """A thread belongs to a project of Codex."""

    project_id: str | None = None


class EnvironmentTold(ThreadTold, frozen=True):
    """An environment of a thread is connected, or not any more."""

    environment_id: str = ""


class ThreadSettings(_Part, frozen=True):
    """The settings of a thread, for its next turns."""

    model: str = ""
    model_provider: str = ""
    effort: str | None = None
    cwd: str = ""
    approval_policy: Any = None
    approvals_reviewer: Any = None
    sandbox_policy: Any = None
    active_permission_profile: Any = None
    collaboration_mode: Any = None
    disabled_plugin_ids: list[str] = []
    multi_agent_mode: Any = None
    personality: Any = None
    service_tier: str | None = None
    summary: Any = None


class SettingsUpdated(ThreadTold, frozen=True):
    """The settings of a thread have changed, by a request or by themselves."""

    thread_settings: ThreadSettings = ThreadSettings()


# --- turns and items ------------------------------------------------------------------------------


class DiffUpdated(TurnTold, frozen=True):
    """All changes of files in a turn, as one diff."""

    diff: str = ""


class ModerationMetadata(TurnTold, frozen=True):
    """What the provider's moderation says about a turn."""

    metadata: Any = None


class PatchUpdated(TurnTold, frozen=True):
    """A patch that the model is still writing."""

    item_id: str = ""
    changes: list[FileUpdate] = []


class SummaryPartAdded(TurnTold, frozen=True):
    """Another summary of reasoning begins."""

    item_id: str = ""
    summary_index: int = 0


class TerminalInteraction(TurnTold, frozen=True):
    """The model has typed into a command that runs."""

    item_id: str = ""
    process_id: str = ""
    stdin: str = ""


class HookEntry(_Part, frozen=True):
    """Something that a hook has said."""

    kind: str = ""
    text: str = ""


class HookRun(_Part, frozen=True):
    """A run of a hook of Codex's configuration."""

    id: str = ""
    event_name: str = ""  # preToolUse, stop, ...
    status: str = ""  # running, completed, failed, blocked, stopped
    status_message: str | None = None
    entries: list[HookEntry] = []
    handler_type: str = ""
    execution_mode: str = ""
    scope: str = ""
    source: Any = None
    source_path: str = ""
    display_order: int = 0
    started_at: int = 0
    completed_at: int | None = None
    duration_ms: int | None = None


class HookTold(ThreadTold, frozen=True):
    """A hook has begun, or ended."""

    run: HookRun = HookRun()
    turn_id: str | None = None


class ApprovalReview(_Part, frozen=True):
    """What a reviewing model decides about an approval."""

    status: str = ""
    rationale: str | None = None
    risk_level: str | None = None
    user_authorization: str | None = None


class ApprovalReviewStarted(TurnTold, frozen=True):
    """A model reviews an approval instead of a person."""

    review_id: str = ""
    review: ApprovalReview = ApprovalReview()
    action: Any = None
    target_item_id: str | None = None
    started_at_ms: int = 0


class ApprovalReviewCompleted(ApprovalReviewStarted, frozen=True):
    """A model has reviewed an approval instead of a person."""

    completed_at_ms: int = 0
    decision_source: str = ""


class StrictReviewRequired(TurnTold, frozen=True):
    """From here on a model reviews each approval of the turn."""

    started_at_ms: int = 0


# --- the model ------------------------------------------------------------------------------------


class ModelRerouted(TurnTold, frozen=True):
    """The provider answers with another model than the one that was asked."""

    from_model: str = ""
    to_model: str = ""
    reason: str = ""


class ModelVerification(TurnTold, frozen=True):
    """The provider wants the account verified for what is done here."""

    verifications: list[str] = []


class SafetyBuffering(TurnTold, frozen=True):
    """The provider holds back output while it is checked."""

    model: str = ""
    faster_model: str | None = None
    reasons: list[str] = []
    use_cases: list[str] = []
    show_buffering_ui: bool = False


class AuthRecovery(TurnTold, frozen=True):
    """A credential is renewed in the middle of a turn."""

    provider: str = ""
    message: str = ""


# --- warnings -------------------------------------------------------------------------------------


class Warned(_Part, frozen=True):
    """A warning."""

    message: str = ""
    thread_id: str | None = None


class GuardianWarning(ThreadTold, frozen=True):
    """A warning of the model that reviews approvals."""

    message: str = ""


class DeprecationNotice(_Part, frozen=True):
    """Something in the configuration or in a request will not work much longer."""

    summary: str = ""
    details: str | None = None


class ConfigWarning(_Part, frozen=True):
    """Something in a file of the configuration is wrong. Every process repeats it."""

    summary: str = ""
    details: str | None = None
    path: str | None = None
    range: Any = None


# --- MCP servers, skills and the account ----------------------------------------------------------


class McpLoginCompleted(_Part, frozen=True):
    """A person has logged in to an MCP server, or could not."""

    name: str = ""
    success: bool = False
    error: str | None = None
    login_id: str | None = None
    thread_id: str | None = None


class McpStatusUpdated(_Part, frozen=True):
    """An MCP server starts, is ready, or has failed."""

    name: str = ""
    status: str = ""  # starting, ready, failed, cancelled
    error: str | None = None
    failure_reason: str | None = None
    thread_id: str | None = None


class SkillsChanged(_Part, frozen=True):
    """The skills on disk have changed."""


class AccountUpdated(_Part, frozen=True):
    """Another account, or another plan of it."""

    auth_mode: str | None = None
    plan_type: str | None = None


class LoginCompleted(_Part, frozen=True):
    """A person has logged in, or could not."""

    success: bool = False
    error: str | None = None
    login_id: str | None = None
    onboarding_entrypoint: Any = None


class GatewayOAuthChanged(_Part, frozen=True):
    """The login to the gateway of a model provider goes on."""

    provider_id: str = ""
    status: str = ""
    auth_url: str | None = None
    error: str | None = None


class RateWindow(_Part, frozen=True):
    """A limit within a period."""

    used_percent: int = 0
    window_duration_mins: int | None = None
    resets_at: int | None = None  # in seconds since 1970


class Credits(_Part, frozen=True):
    """What the account has paid in advance."""

    has_credits: bool = False
    unlimited: bool = False
    balance: str | None = None


class SpendLimit(_Part, frozen=True):
    """What one member may spend."""

    limit: str = ""
    used: str = ""
    remaining_percent: int = 0
    resets_at: int = 0


class RateLimits(_Part, frozen=True):
    """How much of the account's limits is used."""

    limit_id: str | None = None
    limit_name: str | None = None
    primary: RateWindow | None = None
    secondary: RateWindow | None = None
    credits: Credits | None = None
    individual_limit: SpendLimit | None = None
    normal_model_slug: str | None = None
    plan_type: str | None = None
    rate_limit_reached_type: str | None = None  # absent: none is reached
    spend_control_reached: bool | None = None


class RateLimitsUpdated(_Part, frozen=True):
    """The use of the account's limits has changed."""

    rate_limits: RateLimits = RateLimits()


NOTICES: dict[str, type[Struct]] = {
    "thread/compacted": TurnTold,
    "thread/archived": ThreadTold,
    "thread/deleted": ThreadTold,
    "thread/unarchived": ThreadTold,
    "thread/reverted": ThreadTold,
    "thread/closed": ThreadTold,
    "thread/queue/changed": ThreadTold,
    "thread/goal/updated": GoalUpdated,
    "thread/goal/cleared": ThreadTold,
    "thread/status/changed": StatusChanged,
    "thread/readState/changed": ReadStateChanged,
    "thread/attachment/updated": AttachmentUpdated,
    "thread/prediction/updated": PredictionUpdated,
    "thread/project/updated": ProjectUpdated,
    "thread/environment/connected": EnvironmentTold,
    "thread/environment/disconnected": EnvironmentTold,
    "thread/settings/updated": SettingsUpdated,
    "turn/diff/updated": DiffUpdated,
    "turn/moderationMetadata": ModerationMetadata,
    "item/fileChange/patchUpdated": PatchUpdated,
    "item/reasoning/summaryPartAdded": SummaryPartAdded,
    "item/commandExecution/terminalInteraction": TerminalInteraction,
    "item/autoApprovalReview/started": ApprovalReviewStarted,
    "item/autoApprovalReview/completed": ApprovalReviewCompleted,
    "autoApprovalReview/strictReviewRequired": StrictReviewRequired,
    "hook/started": HookTold,
    "hook/completed": HookTold,
    "model/rerouted": ModelRerouted,
    "model/verification": ModelVerification,
    "model/safetyBuffering/updated": SafetyBuffering,
    "modelProvider/authRecoveryStarted": AuthRecovery,
    "modelProvider/authRecoveryCompleted": AuthRecovery,
    "warning": Warned,
    "guardianWarning": GuardianWarning,
    "deprecationNotice": DeprecationNotice,
    "configWarning": ConfigWarning,
    "mcpServer/oauthLogin/completed": McpLoginCompleted,
    "mcpServer/startupStatus/updated": McpStatusUpdated,
    "skills/changed": SkillsChanged,
    "account/updated": AccountUpdated,
    "account/login/completed": LoginCompleted,
    "account/gatewayOAuth/changed": GatewayOAuthChanged,
    "account/rateLimits/updated": RateLimitsUpdated,
}
"""The notifications that are news with typed fields, by their methods."""
