"""Open requests of an agent that a person answers: permissions, and questions as forms."""

from __future__ import annotations

import asyncio
from typing import Any

from turnwire.agents.acp.connection import Connection
from turnwire.core import forms
from turnwire.core.conversation.state import Reply
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp.adapter import elicitation_words

__all__ = ["Requests"]

_CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Requests:
    """The requests that wait for a person. `key` is that of the adapter, for the same ids."""

    def __init__(self, connection: Connection, key: str) -> None:
        self._connection = connection
        self._key = key
        self._permissions: dict[str, rpc.RequestPermission] = {}
        self._questions: dict[str, rpc.CreateElicitation] = {}
        self._own: dict[str, asyncio.Future[Reply]] = {}  # what the host asks for the agent
        self.granted: set[str] = set()  # calls that a person has allowed

    def hear(self, message: rpc.AcpMessage) -> None:
        """Adds a request of the agent."""
        match message:
            case rpc.RequestPermission(id=number):
                self._permissions[f"{self._key}-{number}"] = message
            case rpc.CreateElicitation(id=number):
                self._questions[f"{self._key}-question-{number}"] = message
            case rpc.CancelRequest(params={"requestId": number}):
                self._permissions.pop(f"{self._key}-{number}", None)
                self._questions.pop(f"{self._key}-question-{number}", None)
            case _:
                pass

    async def decided(self, call_id: str) -> Reply:
        """Waits for the decision about a request of the host itself."""
        decision: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._own[call_id] = decision
        try:
            return await decision
        finally:
            self._own.pop(call_id, None)

    def answer(self, reply: Reply) -> bool:
        """Passes a person's reply on. Returns False if its request is not open."""
        if (own := self._own.get(reply.request_id)) is not None:
            if not own.done():
                own.set_result(reply)
            return True
        if (asked := self._permissions.pop(reply.request_id, None)) is not None:
            option = _option(asked.params.options, reply)
            if reply.decision == "allow":
                self.granted.add(asked.params.tool_call.tool_call_id)
            selected = {"outcome": {"outcome": "selected", "optionId": option}}
            self._connection.respond(asked.id, _CANCELLED if option is None else selected)
            return True
        if (question := self._questions.pop(reply.request_id, None)) is not None:
            self._connection.respond(question.id, _answer(question.params, reply))
            return True
        return False

    def cancel(self) -> None:
        """Cancels all open requests, because their turn is stopped."""
        for asked in self._permissions.values():
            self._connection.respond(asked.id, _CANCELLED)
        for question in self._questions.values():
            self._connection.respond(question.id, {"action": "cancel"})
        self._permissions, self._questions = {}, {}
        for call_id, own in self._own.items():
            if not own.done():
                own.set_result(Reply(call_id, "permission", decision="deny", reason="stopped"))

    def turn_ended(self) -> None:
        """Forgets the requests of a turn that has ended."""
        self._permissions, self._questions = {}, {}
        self.granted = set()


def _option(options: list[rpc.PermissionOption], reply: Reply) -> str | None:
    """Returns the agent's own option for a decision. Returns None if it offers none that fits."""
    by_kind = {each.kind: each.option_id for each in reversed(options)}
    if reply.decision != "allow":
        return by_kind.get("reject_once") or by_kind.get("reject_always")
    known = {each.option_id for each in options}
    for rule in reply.remember:
        if isinstance(rule, dict) and rule.get("optionId") in known:
            return str(rule["optionId"])
    return by_kind.get("allow_once") or by_kind.get("allow_always")


def _answer(params: rpc.ElicitationParams, reply: Reply) -> dict[str, Any]:
    if reply.decision == "deny":
        return {"action": "cancel"}
    fields = {} if params.url else forms.fields_of(params.requested_schema)
    if not fields:
        return {"action": "accept" if forms.accepts(reply.answer) else "decline"}
    values = forms.values_of(elicitation_words(params), fields, reply.answer)
    return {"action": "accept", "content": values} if values else {"action": "decline"}
