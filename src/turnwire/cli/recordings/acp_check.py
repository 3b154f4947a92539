"""Checks a recorded stream of an ACP agent: the protocol's rules, and what a front end shows of it."""

from __future__ import annotations

from typing import Any

from turnwire.cli.recordings.recording import Recording
from turnwire.cli.recordings.rpc_agent_check import RPC_AGENT_RULES, RpcAgentCheck
from turnwire.cli.recordings.rpc_stream import RPC_AGENTS
from turnwire.dialects.claude.check import StreamReport

__all__ = ["ACP_RULES", "check_acp"]

ACP_RULES = {
    **RPC_AGENT_RULES,
    "response_without_request": "A response answers a request of the other side.",
    "update_outside_turn": "The agent says and calls something only during a prompt.",
}
"""All rules, by the code of the violation."""

_SAID = {"agent_message_chunk": "text", "agent_thought_chunk": "thinking"}


class AcpCheck(RpcAgentCheck):
    """Checks a recording line by line."""

    def __init__(self) -> None:
        super().__init__()
        self._requests: dict[bool, dict[Any, str]] = {True: {}, False: {}}  # by: from the host
        self._prompts = 0
        self._has_host = False

    def read(self, message: dict[str, Any], from_host: bool, number: int) -> None:
        """Notes requests, responses and updates."""
        self._has_host = self._has_host or from_host
        match message:
            case {"method": "session/update", "params": {"update": dict(update)}}:
                self._update(update, number)
            case {"method": str(method), "id": request}:
                self._requests[from_host][str(request)] = method
                self._prompts += method == "session/prompt"
            case {"id": request, **rest} if "result" in rest or "error" in rest:
                method = self._requests[not from_host].pop(str(request), "")
                if not method and self._has_host:
                    said = f"the response {request!r} has no request"
                    self.violations.add("response_without_request", number, said)
                self._prompts -= method == "session/prompt"
            case _:
                pass

    def _update(self, update: dict[str, Any], number: int) -> None:
        kind = update.get("sessionUpdate")
        if "session/load" in self._requests[True].values():
            return  # repeats what was said before
        said = _SAID.get(str(kind))
        if said is None and kind not in ("tool_call", "tool_call_update"):
            return
        if self._has_host and not self._prompts:
            self.violations.add("update_outside_turn", number, f"{kind} without a prompt")
            return
        if said is None:
            self.note_tool(str(update.get("toolCallId")), update.get("status"), number)
            return
        self.chunks += 1
        content = update.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        if isinstance(text, str):
            setattr(self.said, said, getattr(self.said, said) + text)


def check_acp(recording: Recording) -> StreamReport:
    """Runs every check on a recording of an ACP agent."""
    return AcpCheck().run(recording, RPC_AGENTS["acp"]())
