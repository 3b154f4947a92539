"""The text that `turnwire serve` prints when the server has started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap

from turnwire.ports import Agent
from turnwire.server.access.gate import is_loopback
from turnwire.settings import Settings

__all__ = ["banner"]

_WIDTH = 90


def banner(
    settings: Settings,
    url: str,
    link: str,
    agents: Mapping[str, Agent],
    *,
    usual_agent: str,
    other_port: bool,
    was_served: bool,
    risks: Sequence[str],
    command: Callable[..., str],
) -> str:
    """Returns a few lines: the address, the data directory, the agents, warnings, how to stop.

    `other_port`: the port of the settings is taken, so the server listens on another one.
    `was_served`: the last server used the port of the settings, so pages may be open at that port.
    `command` turns words into a command line that a person can type.
    """
    lines = [f"Turnwire is at {url}"]
    if other_port:
        lines[0] += f"  (port {settings.port} is taken)"
    lines += [
        f"  Open   {link}",
        f"         good once, for 15 minutes; another one: {command('token link')}",
        f"  Data   {settings.kept_in}",
    ]
    reasons = {name: agent.unavailable() for name, agent in agents.items()}
    ready = [name for name, why in reasons.items() if why is None]
    ready.sort(key=lambda name: name != usual_agent)  # the default agent first
    lines.append(f"  Agents {', '.join(ready) or 'none is ready'}")
    for name, why in reasons.items():
        lines += _folded(f"not ready: {name}. {why}") if why else []
    lines.append(f"  Talk   {command('chat')}  (in a second terminal)")
    if not is_loopback(settings.host):
        lines += [
            f"  Mind   Other machines can reach {settings.host}, and agents run commands here.",
            "         Put a proxy with TLS in front of it, or tokens can be read on the network.",
        ]
    if other_port and was_served:
        lines += [
            f"  Mind   The last server of this data was at port {settings.port}. Pages that are still",
            "         open at that port do not find this server: open the link above.",
        ]
    for risk in risks:
        first, *rest = _folded(risk)
        lines += [f"  Mind   {first.strip()}", *rest]
    lines.append("  Stop   Ctrl-C")
    return "\n".join(lines)


def _folded(words: str) -> list[str]:
    margin = " " * 9
    return wrap(
        words,
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,  # a path stays whole, so that it can be copied
        break_on_hyphens=False,
    )
