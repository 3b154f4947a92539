"""How a turn ended: the response to its prompt."""

from __future__ import annotations

import shlex

from msgspec import Struct

from turnwire.core.usage import Usage
from turnwire.dialects.acp.messages import RpcError
from turnwire.dialects.acp.results import AuthMethod, InitializeResult, PromptResult, TokenCounts

__all__ = ["AUTH_REQUIRED", "Ending", "ending_of", "failure_of", "how_to_log_in", "usage_of"]

AUTH_REQUIRED = -32000  # the error code of a request that needs a login

_CODES = {
    AUTH_REQUIRED: "auth_required",
    -32002: "not_found",
    -32600: "invalid_request",
    -32601: "method_not_found",
    -32602: "invalid_params",
    -32603: "internal_error",
    -32700: "parse_error",
}
_FAILED = {
    "max_turn_requests": ("max_turns", "The agent has made the maximum of model calls in a turn."),
    "refusal": ("refusal", "The model refused to go on."),
}


class Ending(Struct, frozen=True, gc=False):
    """The end of a turn. With a code it failed."""

    stop_reason: str
    code: str | None = None
    message: str = ""
    usage: Usage | None = None


def ending_of(result: PromptResult) -> Ending:
    """Returns the end that a result says."""
    reason = result.stop_reason or "end_turn"
    code, message = _FAILED.get(reason, (None, ""))
    return Ending(reason, code, message, usage_of(result.usage))


def failure_of(error: RpcError, agent: InitializeResult) -> Ending:
    """Returns the end that an error says. If a login is missing, the message says how to log in."""
    code = _CODES.get(error.code, f"error_{error.code}")
    message = error.message or "The agent gave no reason."
    if error.code == AUTH_REQUIRED:
        message = f"{message.rstrip('.')}. {how_to_log_in(agent.auth_methods)}"
    return Ending("error", code, message)


def how_to_log_in(methods: list[AuthMethod]) -> str:
    """Returns the ways to log in, for a person."""
    if not methods:
        return "Log in with the agent's own program, or give it a key in its environment."
    return f"Log in on the server's machine: {'; or '.join(map(_way, methods))}."


def _way(method: AuthMethod) -> str:
    """Returns one way to log in, with what to do for it as far as the agent says that."""
    about = [] if method.description is None else [method.description]
    names = [each.name for each in method.vars]
    names += [] if method.var_name is None else [method.var_name]
    if names:
        about.append(f"set {', '.join(names)} in `env` of the agent's settings")
    if method.link is not None:
        about.append(f"get a key at {method.link}")
    if method.type == "terminal":
        variables = [f"{name}={value}" for name, value in method.env.items()]
        words = shlex.join([*variables, "PROGRAM", *method.args])
        about.append(f"run `{words}` in a terminal, with the agent's own program")
    name = method.name or method.id
    return f"{name} ({'; '.join(about)})" if about else name


def usage_of(counts: TokenCounts | None) -> Usage | None:
    """Returns the usage of a turn.

    Some agents count reasoning as a part of the output, others do not: the total shows it.
    """
    if counts is None:
        return None
    read, written = counts.cached_read_tokens, counts.cached_write_tokens
    thought = counts.thought_tokens or 0
    known = counts.input_tokens + counts.output_tokens + (read or 0) + (written or 0)
    is_extra = counts.total_tokens == known + thought
    output = counts.output_tokens + (thought if is_extra else 0)
    return Usage(counts.input_tokens, output, written, read)
