"""Creates a new conversation, for every protocol: validates options and who may choose them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnwire.core.controls import AgentControl, SetSessionOption
from turnwire.core.error_codes import Refused
from turnwire.core.status import Capabilities
from turnwire.engine import Talk
from turnwire.ports import Agent, AgentCapabilities
from turnwire.server.access.keys import Who, digest_of
from turnwire.server.access.limits import MOST_PATH

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = [
    "NewConversation",
    "begin",
    "check_mode_for",
    "check_option_for",
    "check_title",
    "directory_for",
    "fork_modes",
    "id_for",
    "open_roots",
    "options_for",
]

_BUDGET = "max_budget_usd"  # an option of every conversation, with any agent


class NewConversation(Struct, frozen=True, forbid_unknown_fields=True):
    """The choices that a client makes for a new conversation."""

    agent: str | None = None
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}


async def begin(
    service: Service,
    who: Who,
    new: NewConversation,
    *,
    resume: str | None = None,
    own_id: str | None = None,
) -> Talk:
    """Creates a conversation. Raises Refused if the user may not choose what `new` asks for.

    `resume`: the id of an agent session to resume. `own_id`: the idempotency key of the client; a
    retry with the same key returns the conversation that was created first.
    """
    name = new.agent or service.usual_agent
    agent = service.engine.agents.get(name)
    if agent is not None:
        able = agent.capabilities
        choice = options_for(able, who)
        for option in new.options:
            if option not in choice:
                there = ", ".join(sorted(choice))
                said = f"{name} has no option {option!r} that you may choose; there is: {there}."
                raise Refused("INVALID_PAYLOAD", said)
        if new.permission_mode is not None:
            check_mode_for(service.engine.agents, name, new.permission_mode, who)
    title = None if new.title is None else check_title(new.title)
    if resume is not None and not who.is_owner:
        # An agent knows only the names of its sessions, not their users.
        said = "Only the owner of the data may resume a session that the agent has stored."
        raise Refused("FORBIDDEN", said)
    options = new.options
    most, wanted = service.settings.budget_usd_per_conversation, options.get(_BUDGET)
    if most is not None and isinstance(wanted, int | float):  # any user may choose less
        options = {**options, _BUDGET: min(wanted, most)}
    conversation_id = None if own_id is None else id_for(who, own_id)
    await service.check_room(who, conversations=1)
    try:
        talk = await service.engine.create(
            name,
            conversation_id=conversation_id,
            user=who.user,
            title=title,
            cwd=await asyncio.to_thread(
                directory_for, new.cwd, service.roots
            ),  # a disk may be slow
            model=new.model,
            permission_mode=new.permission_mode,
            options=options,
            native_session_id=resume,
        )
    except Refused as refused:
        if conversation_id is None or refused.data.get("conversation_id") != conversation_id:
            raise
        return await service.talk(conversation_id, who)  # a retry: it exists already
    service.has_changed(talk.id, talk.row.user)
    service.write_down("created", who, talk.id, agent=name)
    return talk


def check_title(title: str) -> str:
    """Returns the title without surrounding spaces. Raises Refused if it is empty or too long."""
    if not 0 < len(title.strip()) <= 500:
        raise Refused("INVALID_PAYLOAD", "`title` has 1 to 500 characters.")
    return title.strip()


def id_for(who: Who, own_id: str) -> str:
    """Returns an id that depends only on the user and the key, so that no key has to be stored."""
    return digest_of(f"{who.user!r}\n{own_id}").hex()[:32]


def options_for(able: AgentCapabilities, who: Who) -> list[str]:
    """Returns the options of an agent that this user may choose."""
    own = able.owner_options if who.is_owner else []
    return list(dict.fromkeys([*able.options, *own, _BUDGET]))


def check_mode_for(agents: Mapping[str, Agent], name: str, mode: str, who: Who) -> None:
    """Raises Refused if only the owner may choose this mode. Unknown modes are refused later."""
    able = agents[name].capabilities if name in agents else AgentCapabilities()
    if mode in able.owner_permission_modes and not who.is_owner:
        there = ", ".join(able.permission_modes) or "none"
        said = f"Only the owner of the data may choose {mode!r}; there is: {there}."
        raise Refused("FORBIDDEN", said)
    if able.session_offers and mode not in able.permission_modes and not who.is_owner:
        there = ", ".join(able.permission_modes) or "none"
        said = (
            f"Only the owner of the data may choose {mode!r}; there is: {there}. The owner can open "
            "more with `permission_modes` in the settings of the agent."
        )
        raise Refused("FORBIDDEN", said)


def check_option_for(offered: Capabilities, control: AgentControl, who: Who) -> None:
    """Raises Refused if a control changes an option that only the owner may choose."""
    if not isinstance(control, SetSessionOption) or who.is_owner:
        return
    if control.option not in {each.option for each in offered.session_options}:
        said = f"Only the owner of the data may change the option {control.option!r}."
        raise Refused("FORBIDDEN", said)


def fork_modes(agent: Agent | None, who: Who) -> list[str] | None:
    """Returns the permission modes that a fork of this user may keep. None: any."""
    if agent is None or (agent.capabilities.session_offers and who.is_owner):
        return None
    return agent.capabilities.modes_for(is_owner=who.is_owner)


def open_roots(roots: Sequence[Path]) -> str:
    """Returns a sentence with the directories that agents may work in. Every user may see them."""
    if not roots:
        return "No directory is open to agents: the setting `roots` is empty."
    return f"Choose a directory below {', '.join(map(str, roots))} (the setting `roots`)."


def directory_for(cwd: str | None, roots: Sequence[Path], field: str = "cwd") -> str | None:
    """Returns the directory that the agent works in. Raises Refused if it is not below a root.

    Without a choice it is the first root; None if there is no root. `field`: its name in the request.
    Links are resolved first, so that a link cannot lead out of a root.
    """
    if cwd is None:
        return str(roots[0]) if roots else None
    if "\0" in cwd or not cwd.startswith(("/", "~")):
        raise Refused("INVALID_PAYLOAD", f"`{field}` has to be an absolute path.")
    if len(cwd) > MOST_PATH:
        raise Refused("INVALID_PAYLOAD", f"`{field}` has more than {MOST_PATH} characters.")
    try:
        path = Path(cwd).expanduser().resolve()
        is_there = path.is_dir()
    except (OSError, RuntimeError) as error:  # an unknown user, a loop of links, or too long
        raise Refused("INVALID_PAYLOAD", f"`{field}` cannot be resolved: {error}") from None
    if not any(path.is_relative_to(root) for root in roots):
        raise Refused("FORBIDDEN", f"Agents may not work in it. {open_roots(roots)}")
    if not is_there:
        raise Refused("INVALID_PAYLOAD", f"{cwd!r} is not a directory.")
    return str(path)
