"""The server frames of protocol v2: the envelope, and one type for each kind of frame."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from turnwire.core.lenient import Unknown
from turnwire.core.status import Status, TurnEnd
from turnwire.dialects.v2 import payloads as p

__all__ = [
    "AssistantBlock",
    "AssistantChunk",
    "AssistantComplete",
    "AssistantDiscarded",
    "AssistantPermissionRequest",
    "AssistantRequestInput",
    "AssistantRequestResolved",
    "AssistantThinking",
    "AssistantToolCall",
    "AssistantToolProgress",
    "AssistantToolResult",
    "ControlAck",
    "ConversationInterrupted",
    "ConversationUpdated",
    "ForgetRuleAck",
    "Frame",
    "InputResponseAck",
    "InterruptAck",
    "MessageAck",
    "MessageReplay",
    "PermissionResponseAck",
    "QueueAck",
    "Replay",
    "RewindAck",
    "ServerFrame",
    "SessionConnected",
    "SessionError",
    "SessionHeartbeatAck",
    "SessionReplayComplete",
    "SessionReset",
    "SessionResumed",
    "SessionState",
    "SessionSystemEvent",
    "SetAgentAck",
    "SetMaxThinkingTokensAck",
    "SetModelAck",
    "SetPermissionModeAck",
    "TurnStarted",
    "UnknownFrame",
    "UserMessage",
]


class Frame(Struct, frozen=True, tag_field="type", gc=False):
    """The envelope. `type` says which of the frames below it is, and so what `payload` holds."""

    conversation_id: str
    turn_id: int | None  # null: not about a turn
    sequence: int | None  # counts the frames of this connection from 1; null in a replayed event
    timestamp: str  # ISO 8601, UTC, with `Z`
    trace_id: str | None  # 32 hex digits, one for each turn; null: not about a turn

    @property
    def type(self) -> str:
        """Returns the name of this type of frame in the protocol, for example `assistant.chunk`."""
        return str(self.__struct_config__.tag)


# --- the connection -----------------------------------------------------------------------------


class SessionConnected(Frame, frozen=True, tag="session.connected"):
    """The first frame: the connection starts without a cursor in the log."""

    payload: p.SessionInfo


class SessionResumed(Frame, frozen=True, tag="session.resumed"):
    """The first frame: the connection continues after `last_sequence`."""

    payload: p.SessionInfo


class SessionReset(Frame, frozen=True, tag="session.reset"):
    """The client's copy is void and must be dropped."""

    payload: p.Reset


class Replay(Struct, frozen=True, gc=False):
    """An event that was sent before."""

    message_sequence: int | None  # null: the end of a turn, which has no number
    event: ServerFrame  # the frame as it was first sent, except for its sequence


class MessageReplay(Frame, frozen=True, tag="message.replay"):
    """An event that this client missed."""

    payload: Replay


class SessionReplayComplete(Frame, frozen=True, tag="session.replay_complete"):
    """The replay is complete."""

    payload: p.ReplayComplete


class SessionState(Frame, frozen=True, tag="session.state"):
    """The complete state of the session."""

    payload: Status


class SessionHeartbeatAck(Frame, frozen=True, tag="session.heartbeat_ack"):
    """The answer to session.heartbeat; the server also sends it unasked after a time of silence."""

    payload: p.HeartbeatAck


class SessionError(Frame, frozen=True, tag="session.error"):
    """A refusal, or the reason why the connection closes."""

    payload: p.ErrorPayload


# --- a turn -------------------------------------------------------------------------------------


class TurnStarted(Frame, frozen=True, tag="turn.started"):
    """A turn starts, or resumes."""

    payload: p.TurnStart


class UserMessage(Frame, frozen=True, tag="user.message"):
    """A message to the agent. Durable."""

    payload: p.UserWords


class AssistantChunk(Frame, frozen=True, tag="assistant.chunk"):
    """Text. Durable when finished."""

    payload: p.Chunk


class AssistantThinking(Frame, frozen=True, tag="assistant.thinking"):
    """Reasoning. Durable when finished."""

    payload: p.Thinking


class AssistantToolCall(Frame, frozen=True, tag="assistant.tool_call"):
    """A tool call. Durable when finished."""

    payload: p.ToolCall


class AssistantBlock(Frame, frozen=True, tag="assistant.block"):
    """Any other block. Durable when finished."""

    payload: p.OtherBlock


class AssistantToolProgress(Frame, frozen=True, tag="assistant.tool_progress"):
    """Progress of a running tool."""

    payload: p.ToolProgressed


class AssistantToolResult(Frame, frozen=True, tag="assistant.tool_result"):
    """A tool's result. Durable."""

    payload: p.ToolResult


class AssistantDiscarded(Frame, frozen=True, tag="assistant.discarded"):
    """Blocks that will never be finished."""

    payload: p.Discarded


class AssistantRequestInput(Frame, frozen=True, tag="assistant.request_input"):
    """A question. Durable."""

    payload: p.RequestInput


class AssistantPermissionRequest(Frame, frozen=True, tag="assistant.permission_request"):
    """A request for a permission. Durable."""

    payload: p.PermissionAsked


class AssistantRequestResolved(Frame, frozen=True, tag="assistant.request_resolved"):
    """A question or a permission request has ended. Durable."""

    payload: p.RequestResolved


class AssistantComplete(Frame, frozen=True, tag="assistant.complete"):
    """The turn has ended. Exactly one for each turn, stored with the turn."""

    payload: TurnEnd


class ConversationInterrupted(Frame, frozen=True, tag="conversation.interrupted"):
    """A turn was interrupted. Durable."""

    payload: p.Interrupted


class ConversationUpdated(Frame, frozen=True, tag="conversation.updated"):
    """The title or the totals changed."""

    payload: p.ConversationNews


class SessionSystemEvent(Frame, frozen=True, tag="session.system_event"):
    """An event about the session. Durable if it has a message_sequence."""

    payload: p.SystemNews


# --- answers to client frames -------------------------------------------------------------------


class MessageAck(Frame, frozen=True, tag="user.message.ack"):
    """The message is in the log, or in the queue."""

    payload: p.Accepted


class InputResponseAck(Frame, frozen=True, tag="user.input_response.ack"):
    """The answer was accepted; a question takes only one."""

    payload: p.Accepted


class PermissionResponseAck(Frame, frozen=True, tag="user.permission_response.ack"):
    """The decision was accepted; a request takes only one."""

    payload: p.Accepted


class InterruptAck(Frame, frozen=True, tag="user.interrupt.ack"):
    """The interrupt was accepted; conversation.interrupted reports its result."""

    payload: p.Accepted


class QueueAck(Frame, frozen=True, tag="user.queue.ack"):
    """The queue was changed; session.state shows it."""

    payload: p.Accepted


class RewindAck(Frame, frozen=True, tag="user.rewind.ack"):
    """The files were restored."""

    payload: p.Accepted


class ForgetRuleAck(Frame, frozen=True, tag="session.forget_rule.ack"):
    """The rule was taken back. session.state has the number of those that are left."""

    payload: p.Accepted


class SetAgentAck(Frame, frozen=True, tag="session.set_agent.ack"):
    """The agent was chosen. session.state tells when it speaks."""

    payload: p.Accepted


class SetModelAck(Frame, frozen=True, tag="session.set_model.ack"):
    """The model was changed."""

    payload: p.Accepted


class SetPermissionModeAck(Frame, frozen=True, tag="session.set_permission_mode.ack"):
    """The permission mode was changed."""

    payload: p.Accepted


class SetMaxThinkingTokensAck(Frame, frozen=True, tag="session.set_max_thinking_tokens.ack"):
    """The limit of reasoning was changed."""

    payload: p.Accepted


class ControlAck(Frame, frozen=True, tag="session.control.ack"):
    """The agent has handled the control; the payload holds its result."""

    payload: p.Accepted


class UnknownFrame(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """A frame of a type that this version does not know. A client ignores it.

    `encode` writes it as it came.
    """

    @property
    def type(self) -> str:
        """Returns the type that the frame was received with."""
        return self.original_type


ServerFrame: TypeAlias = (
    SessionConnected
    | SessionResumed
    | SessionReset
    | MessageReplay
    | SessionReplayComplete
    | SessionState
    | SessionHeartbeatAck
    | SessionError
    | TurnStarted
    | UserMessage
    | AssistantChunk
    | AssistantThinking
    | AssistantToolCall
    | AssistantBlock
    | AssistantToolProgress
    | AssistantToolResult
    | AssistantDiscarded
    | AssistantRequestInput
    | AssistantPermissionRequest
    | AssistantRequestResolved
    | AssistantComplete
    | ConversationInterrupted
    | ConversationUpdated
    | SessionSystemEvent
    | MessageAck
    | InputResponseAck
    | PermissionResponseAck
    | InterruptAck
    | QueueAck
    | RewindAck
    | ForgetRuleAck
    | SetAgentAck
    | SetModelAck
    | SetPermissionModeAck
    | SetMaxThinkingTokensAck
    | ControlAck
    | UnknownFrame
)
