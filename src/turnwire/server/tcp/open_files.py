"""How many files this process may have open, and so how many connections there can be."""

from __future__ import annotations

from msgspec import structs

from turnwire.settings import Settings

__all__ = ["fit_connections", "raise_file_limit"]

_OTHERS = 512  # files that are no connections: the store, the pipes of agents, libraries
_SHARE = 4  # one in so many may be a connection that waits


def files_needed(settings: Settings) -> int:
    """The files of a server that has as many connections as its settings allow."""
    return settings.max_connections + settings.max_waiting_connections + _OTHERS


def raise_file_limit(settings: Settings) -> int:
    """Raise the soft limit of open files as far as needed and allowed; returns what it is then."""
    try:
        import resource
    except ImportError:  # not on this system, which then has no such limit
        return files_needed(settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = files_needed(settings)
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # macOS has another limit beyond this one
            return soft
        return wanted
    return needed if soft == resource.RLIM_INFINITY else soft


def fit_connections(settings: Settings, files: int) -> tuple[Settings, str | None]:
    """The settings with as many connections as there are files for, and why there are fewer.

    One user may then have half of them, so that there is room for another.
    """
    if files >= files_needed(settings):
        return settings, None
    room = max(files - min(_OTHERS, files // 2), 8)
    waiting = min(settings.max_waiting_connections, room // _SHARE)
    most = min(settings.max_connections, room - waiting)
    fitting = structs.replace(
        settings,
        max_connections=most,
        max_connections_per_user=min(settings.max_connections_per_user, max(most // 2, 1)),
        max_waiting_connections=waiting,
        max_waiting_connections_per_address=min(
            settings.max_waiting_connections_per_address, waiting
        ),
    )
    said = (
        f"this process may open {files:,} files, so there is room for {most:,} connections, not for "
        f"{settings.max_connections:,}. Raise the hard limit to {files_needed(settings):,} "
        "(ulimit -Hn; LimitNOFILE= for systemd), or lower max_connections"
    )
    return fitting, said
