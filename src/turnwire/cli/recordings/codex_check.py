"""Checks a recorded stream of Codex: its order, and what a front end shows of it."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from turnwire.cli.recordings.recording import Recording
from turnwire.cli.recordings.rpc_agent_check import ENDED, RpcAgentCheck
from turnwire.cli.recordings.rpc_stream import RPC_AGENTS, Heard
from turnwire.dialects.claude.check import StreamReport
from turnwire.errors import BadLine

__all__ = ["check_codex"]

_CALLS = ("commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall")


class CodexCheck(RpcAgentCheck):
    """Checks a recording line by line."""

    def __init__(self) -> None:
        super().__init__()
        self._streams: dict[str, str] = {}  # text of messages that are not complete
        self._asked: dict[str, str] = {}  # request -> call
        self._answered: set[str] = set()

    def feed(self, heard: Heard) -> None:
        """Takes one line and its events. The dialect does not type the host's requests."""
        line = heard.line
        if heard.from_host and not isinstance(line, BadLine):
            heard = heard._replace(line=structs.replace(line, unknown=()))
        super().feed(heard)

    def read(self, message: dict[str, Any], from_host: bool, number: int) -> None:
        """Notes items, their pieces, requests and the ends of turns."""
        params = message.get("params") or {}
        match message.get("method"):
            case None if from_host and "result" in message:
                self._answered.add(str(message.get("id")))
            case "item/started":
                self._item(params["item"], number, is_done=False)
            case "item/completed":
                self._item(params["item"], number, is_done=True)
            case "item/agentMessage/delta":
                text = self._streams.get(params["itemId"], "")
                self._streams[params["itemId"]] = text + params["delta"]
            case "error" if params.get("willRetry"):
                self._streams.clear()
            case "item/tool/requestUserInput":
                self._asked[str(message["id"])] = params["itemId"]
                self.note_tool(params["itemId"], None, number)
            case "serverRequest/resolved":
                self._end_request(str(params["requestId"]))
            case "turn/completed":
                self._end_turn(params["turn"].get("status"))
            case _:
                pass

    def _item(self, item: dict[str, Any], number: int, *, is_done: bool) -> None:
        kind = item["type"]
        if kind in _CALLS:
            ended = "completed" if item.get("status") == "completed" else "failed"
            self.note_tool(item["id"], ended if is_done else None, number)
        elif is_done and kind in ("agentMessage", "plan"):
            self.chunks += 1
            self._streams.pop(item["id"], None)
            self.said.text += item["text"]
        elif is_done and kind == "reasoning":
            self.chunks += 1
            said = [*item.get("summary", []), *item.get("content", [])]
            self.said.thinking += "".join(said)

    def _end_request(self, request: str) -> None:
        call = self._asked.pop(request, None)
        if call is not None:
            self.said.tools[call] = "completed" if request in self._answered else "failed"

    def _end_turn(self, status: str | None) -> None:
        for request in list(self._asked):
            self._end_request(request)
        if status != "completed":  # the text stays; the calls have failed
            self.said.text += "".join(self._streams.values())
        self._streams.clear()
        for call, now in self.said.tools.items():
            if now not in ENDED:
                self.said.tools[call] = "failed"


def check_codex(recording: Recording) -> StreamReport:
    """Runs every check on a recording of Codex."""
    return CodexCheck().run(recording, RPC_AGENTS["codex"]())
