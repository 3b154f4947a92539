"""The limit of open files of the process, and how many connections fit into it."""

from __future__ import annotations

from msgspec import structs

from turnwire.settings import Settings

__all__ = ["fit_connections", "raise_file_limit"]

_OTHERS = 512  # files that are not connections: the store, the pipes of agents, libraries
_SHARE = 4  # a quarter of the connections may be waiting ones


def files_needed(settings: Settings) -> int:
    """Returns how many open files a server needs with all connections that its settings allow."""
    return settings.max_connections + settings.max_waiting_connections + _OTHERS


def raise_file_limit(settings: Settings) -> int:
    """Raises the soft limit of open files as needed and as allowed. Returns the new limit."""
    try:
        import resource
    except ImportError:  # this system has no such limit
        return files_needed(settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = files_needed(settings)
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # macOS has a second limit
            return soft
        return wanted
    return needed if soft == resource.RLIM_INFINITY else soft


def fit_connections(settings: Settings, files: int) -> tuple[Settings, str | None]:
    """Returns settings with as many connections as fit into `files`, and a warning if fewer fit.

    One user may then have half of the connections, so that other users can connect.
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
