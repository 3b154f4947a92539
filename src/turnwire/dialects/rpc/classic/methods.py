"""The methods of the profile `classic`: what its client sends, as calls of RPC."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from turnwire.core.error_codes import Refused
from turnwire.core.faults import fault_in_words
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.frames import OURS, Call, Reply

__all__ = [
    "METHODS",
    "Connect",
    "GetHistorySessions",
    "Query",
    "QueryWithContent",
    "SetModel",
    "SetPermissionMode",
    "read_frame",
]

_NotEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Params(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """The parameters of a method. Unknown ones are passed over."""


class Connect(_Params, frozen=True):
    """Opens a conversation: an existing one, the last one, or a new one."""

    session_id: str | None = None  # a conversation, or the client's own name for a new one
    resume_session_id: str | None = None  # an existing conversation
    resume: str | bool | None = None  # the same
    continue_conversation: bool | None = None  # the newest conversation of this user
    provider: str | None = None  # the agent of a new conversation
    model: str | None = None
    system_prompt: str | None = None  # of a new conversation, if its agent takes one
    permission_mode: str | None = None
    thinking_enabled: bool | None = None
    include_partial_messages: bool | None = None  # false: no `stream_event`
    dangerously_skip_permissions: bool | None = None  # true is refused
    api_key: str | None = None  # refused
    sandbox_mode: Literal["read-only", "workspace-write", "danger-full-access"] | None = None

    def check(self) -> None:
        """Raises Refused for an option that would switch a protection off."""
        if self.dangerously_skip_permissions:
            said = (
                "dangerouslySkipPermissions is not possible here: permissions are not skipped. "
                "Connect without it; permissionMode chooses how often the agent asks."
            )
            raise Refused("FORBIDDEN", said)
        if self.api_key:
            said = "apiKey is not possible here: the server has its own keys. Connect without it."
            raise Refused("FORBIDDEN", said)
        if self.sandbox_mode == "danger-full-access":
            said = "sandboxMode danger-full-access is not possible here. Connect without it."
            raise Refused("FORBIDDEN", said)

    @property
    def existing(self) -> str | None:
        """Returns the id of a conversation that has to exist."""
        if isinstance(self.resume, str) and self.resume:
            return self.resume
        return self.resume_session_id or None


class Query(_Params, frozen=True):
    """Sends a message to the agent."""

    message: _NotEmpty


class QueryWithContent(_Params, frozen=True):
    """Sends a message of text and images, in their order."""

    content: Annotated[list[m.Content], Meta(min_length=1)]


class SetModel(_Params, frozen=True):
    """Sets the model from now on. The parameter may also be the bare name."""

    model: _NotEmpty


class SetPermissionMode(_Params, frozen=True):
    """Sets the permission mode. The parameter may also be the bare name."""

    mode: _NotEmpty


class GetHistorySessions(_Params, frozen=True):
    """Returns the list of conversations, the newest first."""

    max_results: Annotated[int, Meta(ge=1)] = 50


class _Nothing(_Params, frozen=True):
    """Takes no parameters."""


METHODS: dict[str, type[_Params]] = {
    "connect": Connect,
    "query": Query,
    "queryWithContent": QueryWithContent,
    "interrupt": _Nothing,
    "disconnect": _Nothing,
    "setModel": SetModel,
    "setPermissionMode": SetPermissionMode,
    "getHistory": _Nothing,
    "getHistorySessions": GetHistorySessions,
}

_BARE = {"query": "message", "setModel": "model", "setPermissionMode": "mode"}
_LONGEST_LIST = 500


def read_frame(value: Any) -> Call | Reply:
    """Reads a frame of a client from decoded JSON: a call, with parameters of RPC, or a reply.

    Raises Refused. Its data holds the `id`, so that the refusal is the answer to that call.
    """
    own_id = value.get("id") if isinstance(value, dict) else None
    if not isinstance(own_id, str) or not own_id:
        raise Refused("INVALID_FORMAT", "A frame is a JSON object with an `id`, a string.")
    if own_id.startswith(OURS):
        return Reply(own_id, value.get("result"), value.get("result") is None)
    method, given = value.get("method"), value.get("params")
    kind = METHODS.get(method) if isinstance(method, str) else None
    if kind is None or not isinstance(method, str):
        said = f"There is no method {method!r}. The methods are: {', '.join(METHODS)}."
        raise Refused("UNKNOWN_MESSAGE_TYPE", said, id=own_id)
    if isinstance(given, str) and method in _BARE:
        given = {_BARE[method]: given}
    try:
        params = msgspec.convert({} if given is None else given, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said = f"{method}: {fault_in_words(str(error))}."
        raise Refused("INVALID_PAYLOAD", said, id=own_id) from None
    if isinstance(params, Connect):
        return Call(own_id, method, params)  # type: ignore[arg-type]  # only this profile has it
    return Call(own_id, method, _as_rpc(method, params))


def _as_rpc(method: str, params: _Params) -> m.Method:
    """Returns the parameters of the same method of RPC."""
    match params:
        case Query(message=message):
            return m.Query(message)
        case QueryWithContent(content=content):
            return m.QueryWithContent(content)
        case SetModel(model=model):
            return m.SetModel(model)
        case SetPermissionMode(mode=mode):
            return m.SetPermissionMode(mode)
        case GetHistorySessions(max_results=most):
            return m.GetHistorySessions(min(most, _LONGEST_LIST))
        case _:
            return m.METHODS[method]()  # type: ignore[call-arg]  # those without parameters
