"""The directories that an agent may work in, checked at every start of an agent."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from turnwire.agents.process import allowed_directory
from turnwire.ports import AgentGone, SessionStart

__all__ = ["within_roots"]

_STEP = "The owner of the server may add the directory to the setting `roots`."


def within_roots(start: SessionStart, roots: Sequence[str] | None) -> SessionStart:
    """Returns the start with an allowed working directory, symbolic links resolved.

    `roots`: None allows every directory, an empty list only the agent's own. A conversation without
    a directory gets the first root. Raises AgentGone if the directory does not exist, or is not
    below one of the roots. Reads the file system, so call it in a thread.
    """
    if roots is None:
        return start
    start = structs.replace(start, roots=list(roots))
    wanted = start.cwd if start.cwd is not None else roots[0] if roots else None
    if wanted is None:
        return start
    if not roots:
        raise AgentGone(f"The agent may not work in {wanted}: no directory is allowed. {_STEP}")
    try:
        return structs.replace(start, cwd=allowed_directory(wanted, roots))
    except AgentGone as gone:
        raise AgentGone(f"{gone.message} {_STEP}") from gone
