"""A new conversation, whichever door it is asked for at: what may be chosen, and by whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.engine import Talk
from turnwire.server.keys import Who

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["NewConversation", "begin"]


class NewConversation(Struct, frozen=True, forbid_unknown_fields=True):
    """What a conversation begins with."""

    agent: str | None = None
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}


async def begin(
    service: Service, who: Who, new: NewConversation, *, resume: str | None = None
) -> Talk:
    """Begin one. `resume`: with this session of the agent's own. Raises Refused."""
    name = new.agent or service.usual_agent
    agent = service.engine.agents.get(name)
    if agent is not None:
        able = agent.capabilities
        for option in new.options:
            if option not in able.options:
                said = f"{name} has no option {option!r} that a client may choose."
                raise Refused("INVALID_PAYLOAD", said)
    if new.title is not None and not 0 < len(new.title.strip()) <= 500:
        raise Refused("INVALID_PAYLOAD", "`title` has 1 to 500 characters.")
    if resume is not None and who.user is not None:
        # An agent knows its sessions by their names alone, not whose they are.
        said = "Only the owner of the data may go on with a session from elsewhere."
        raise Refused("FORBIDDEN", said)
    talk = await service.engine.create(
        name,
        user=who.user,
        title=new.title.strip() if new.title else None,
        cwd=_directory(new.cwd, service),
        model=new.model,
        permission_mode=new.permission_mode,
        options=new.options,
        native_session_id=resume,
    )
    service.news.tell(talk.id)
    service.write_down("created", who, talk.id, agent=name)
    return talk


def _directory(cwd: str | None, service: Service) -> str | None:
    """Where the agent works: below a directory in which it may. Links are followed first."""
    if cwd is None:
        return str(service.roots[0]) if service.roots else None
    if "\0" in cwd or not cwd.startswith(("/", "~")):
        raise Refused("INVALID_PAYLOAD", "`cwd` has to be a whole path.")
    try:
        path = Path(cwd).expanduser().resolve()
        is_there = path.is_dir()
    except (OSError, RuntimeError) as error:  # no such user, links in a circle, too long
        raise Refused("INVALID_PAYLOAD", f"`cwd` leads nowhere: {error}") from None
    if not any(path.is_relative_to(root) for root in service.roots):
        said = "Agents may not work there. Choose a directory below one of the setting `roots`."
        raise Refused("FORBIDDEN", said)
    if not is_there:
        raise Refused("INVALID_PAYLOAD", f"{cwd!r} is no directory.")
    return str(path)
