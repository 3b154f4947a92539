"""What an AG-UI client sends: a request to run the agent."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct

__all__ = ["ClientTool", "ContextItem", "ResumeEntry", "RunAgentInput", "SentMessage"]


class _Sent(Struct, frozen=True, rename="camel"):
    """An object of the client. Unknown fields are ignored: newer clients may add some."""


class SentMessage(_Sent, frozen=True):
    """A message of the client's history. Only a new message of a person is taken from it."""

    id: str
    role: str
    content: str | list[dict[str, Any]] | dict[str, Any] | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None  # of a tool's result
    error: str | None = None  # of a tool's result


class ClientTool(_Sent, frozen=True):
    """A tool that the front end runs itself."""

    name: str
    description: str = ""
    parameters: Any = None  # a JSON Schema


class ContextItem(_Sent, frozen=True):
    """Something that the front end wants the agent to know."""

    description: str
    value: str


class ResumeEntry(_Sent, frozen=True):
    """The answer to an interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = UNSET


class RunAgentInput(_Sent, frozen=True):
    """A request to run the agent."""

    thread_id: str
    run_id: str
    messages: list[SentMessage]
    protocol_version: str | None = None
    parent_run_id: str | None = None
    state: Any = None
    tools: list[ClientTool] = []
    context: list[ContextItem] = []
    forwarded_props: Any = None
    resume: list[ResumeEntry] = []
