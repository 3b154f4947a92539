"""The sub-agents that one run has shown."""

from __future__ import annotations

from collections.abc import Iterable

from turnwire.dialects.agui import events as e

__all__ = ["Subagents"]


class Subagents:
    """Begins and ends sub-agents. A sub-agent is named by the tool call that started it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # of tools, by call
        self._parents: dict[str, str | None] = {}  # of calls: the sub-agent that made it
        self._active: list[str] = []
        self._seen: set[str] = set()  # begun in this run

    def called(self, call: str, tool_name: str, tag: str | None) -> None:
        """Notes a tool call, which may start a sub-agent."""
        self._names[call] = tool_name
        self._parents[call] = tag

    def begin(self, call: str, agent_id: str | None, out: list[e.Event]) -> None:
        """Begins the sub-agent of a call, once in a run, after the one that has started it."""
        if call in self._seen:
            return
        self._seen.add(call)
        parent = self._parents.get(call)
        if parent is not None:
            self.begin(parent, None, out)
        name = self._names.get(call) or agent_id or "subagent"
        self._active.append(call)
        out.append(e.SubagentStarted(call, name, parent, call))

    def returned(self, call: str, error: str | None, out: list[e.Event]) -> None:
        """Ends the sub-agent of a call that has a result; `error` is that of a failed one."""
        if call in self._active:
            self._active.remove(call)
            if error is None:
                out.append(e.SubagentFinished(call, e.SubagentOutcome("success")))
            else:
                out.append(e.SubagentError(call, error))

    def close(
        self, out: list[e.Event], *, is_ended: bool, interrupts: Iterable[e.Interrupt] = ()
    ) -> None:
        """Ends what the run has begun, the newest first. A later run may continue it.

        `is_ended`: the turn was stopped or has failed, so nothing continues.
        """
        asked = list(interrupts)
        while self._active:
            call = self._active.pop()
            if is_ended:
                out.append(e.SubagentError(call, "The turn has ended."))
                continue
            own = [each.id for each in asked if each.subagent_run_id == call]
            out.append(e.SubagentFinished(call, e.SubagentOutcome("suspended", own or None)))
