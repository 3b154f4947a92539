"""The permission modes of Codex: each is an approval policy together with a sandbox."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["MODES", "Mode", "mode_of"]


class Mode(NamedTuple):
    """When Codex asks, and what its commands may do without asking."""

    approval: str  # untrusted, on-request, never
    sandbox: str  # read-only, workspace-write, danger-full-access
    policy: str  # the sandbox's name in a turn's settings


MODES = {
    "default": Mode("on-request", "workspace-write", "workspaceWrite"),
    "read-only": Mode("on-request", "read-only", "readOnly"),
    "untrusted": Mode("untrusted", "workspace-write", "workspaceWrite"),
    "never-ask": Mode("never", "workspace-write", "workspaceWrite"),
    "never-ask-read-only": Mode("never", "read-only", "readOnly"),
    "full-access": Mode("never", "danger-full-access", "dangerFullAccess"),
}
"""The modes by their names."""


def mode_of(approval: Any, sandbox: Any) -> str | None:
    """Returns the name of the mode that Codex reports. Returns None if no name fits."""
    policy = sandbox.get("type") if isinstance(sandbox, dict) else sandbox
    for name, mode in MODES.items():
        if mode.approval == approval and policy in (mode.policy, mode.sandbox):
            return name
    return None
