"""What a person is told when the server has started."""

from __future__ import annotations

from collections.abc import Mapping

from turnwire.ports import Agent
from turnwire.server.gate import is_loopback
from turnwire.settings import Settings

__all__ = ["banner"]


def banner(
    settings: Settings, url: str, link: str, agents: Mapping[str, Agent], *, other_port: bool
) -> str:
    """A few lines: where it is, where the data is, whom one can talk to, how to stop it."""
    lines = [f"Turnwire is at {url}"]
    if other_port:
        lines[0] += f"  (port {settings.port} is taken)"
    lines += [
        f"  Open   {link}",
        "         good once, for 15 minutes; another one: turnwire token link",
        f"  Data   {settings.data_path}",
    ]
    reasons = {name: agent.unavailable() for name, agent in agents.items()}
    ready = [name for name, why in reasons.items() if why is None]
    lines.append(f"  Agents {', '.join(ready) or 'none is ready'}")
    lines += [f"         {name} is not ready: {why}" for name, why in reasons.items() if why]
    lines.append("  Talk   turnwire chat, in another terminal")
    if not is_loopback(settings.host):
        lines += [
            f"  Mind   {settings.host} can be reached from elsewhere, and agents run commands here.",
            "         Put something with TLS in front of it, or tokens can be read on the way.",
        ]
    lines.append("  Stop   Ctrl-C")
    return "\n".join(lines)
