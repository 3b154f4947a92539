"""Open requests of an agent that a person answers: permissions, and questions as forms."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from turnwire.agents.acp.connection import Connection
from turnwire.agents.acp.grants import Grant, Grants
from turnwire.core import forms
from turnwire.core.conversation.state import Reply
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp.adapter import elicitation_words

__all__ = ["Requests"]

_CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Requests:
    """The requests that wait for a person. `key` is that of the adapter, for the same ids.

    `grants` gets what a person allows.
    """

    def __init__(self, connection: Connection, key: str, grants: Grants) -> None:
        self._connection = connection
        self._key = key
        self._grants = grants
        self._permissions: dict[str, tuple[rpc.RequestPermission, Grant]] = {}
        self._questions: dict[str, rpc.CreateElicitation] = {}
        self._own: dict[str, asyncio.Future[Reply]] = {}  # what the host asks for the agent

    def hear(self, message: rpc.AcpMessage, call: Mapping[str, Any]) -> None:
        """Adds a request of the agent. `call` has the fields of the call that needs a permission."""
        match message:
            case rpc.RequestPermission(id=number):
                self._permissions[f"{self._key}-{number}"] = message, self._grants.of(call)
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
        if (waiting := self._permissions.pop(reply.request_id, None)) is not None:
            asked, grant = waiting
            option = _option(asked.params.options, reply)
            if option is None:
                self._connection.respond(asked.id, _CANCELLED)
                return True
            if option.kind in ("allow_once", "allow_always"):
                self._grants.add(grant, always=_remembers(reply, option))
            selected = {"outcome": "selected", "optionId": option.option_id}
            self._connection.respond(asked.id, {"outcome": selected})
            return True
        if (question := self._questions.pop(reply.request_id, None)) is not None:
            self._connection.respond(question.id, _answer(question.params, reply))
            return True
        return False

    def complete(self, elicitation_id: str) -> None:
        """Accepts the question whose web page a person has finished."""
        for request_id, question in self._questions.items():
            if question.params.elicitation_id == elicitation_id:
                del self._questions[request_id]
                self._connection.respond(question.id, {"action": "accept"})
                return

    def cancel(self) -> None:
        """Cancels all open requests, because their turn is stopped."""
        for asked, _ in self._permissions.values():
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
        self._grants.turn_ended()


def _option(options: list[rpc.PermissionOption], reply: Reply) -> rpc.PermissionOption | None:
    """Returns the agent's own option for a decision. Returns None if it offers none that fits."""
    by_kind = {each.kind: each for each in reversed(options)}
    if reply.decision != "allow":
        return by_kind.get("reject_once") or by_kind.get("reject_always")
    for option in options:
        if _remembers(reply, option):
            return option
    return by_kind.get("allow_once") or by_kind.get("allow_always")


def _remembers(reply: Reply, option: rpc.PermissionOption) -> bool:
    """Returns whether a person has chosen this option, which is for more than one time."""
    chosen = [rule.get("optionId") for rule in reply.remember if isinstance(rule, dict)]
    return option.kind == "allow_always" and option.option_id in chosen


def _answer(params: rpc.ElicitationParams, reply: Reply) -> dict[str, Any]:
    if reply.decision == "deny":
        return {"action": "cancel"}
    fields = {} if params.url else forms.fields_of(params.requested_schema)
    if not fields:
        return {"action": "accept" if forms.accepts(reply.answer) else "decline"}
    values = forms.values_of(elicitation_words(params), fields, reply.answer)
    if not values or not {*forms.required_of(params.requested_schema)} <= values.keys():
        return {"action": "decline"}  # the agent would refuse a form that is not complete
    return {"action": "accept", "content": values}
