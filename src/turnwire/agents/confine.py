"""Denies a command access to directories of its server. The guard applies this before exec.

Three mechanisms; each makes the directories unreadable for the command and its children:

- `namespaces`: a mount namespace in which an empty file system covers each directory;
- `landlock`: the kernel refuses every access below the directories;
- `user`: the command runs as another user, who has no access to the directories.

The first two exist only on Linux. They also prevent the command from reading the memory or the
environment of processes outside, such as the server. The guard loads this file by its path, and the
file imports little, so that an agent starts fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["apply", "close_to_others", "write_maps"]

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000  # of unshare(2)
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8  # of mount(2)
_REMOUNT, _BIND, _RECURSIVE, _SLAVE = 32, 4096, 16384, 1 << 19
_SET_DUMPABLE, _DROP_FOR_GOOD, _NO_NEW_PRIVILEGES = 4, 24, 38  # of prctl(2)
_SYS_PTRACE, _SYS_ADMIN, _PERFMON = 19, 21, 38  # of capabilities(7)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
_ASK_VERSION, _PATH_BENEATH = 1, 1
# Rights of Landlock: rights for a file, the right to list a directory, and all rights per version.
# The right to control devices (version 5) is not handled, because it opens no file.
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14  # execute, write, read, truncate
_LIST = 1 << 3
_ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}


def apply(spec: dict[str, Any], ask_for_maps: Callable[[], None]) -> None:
    """Confines this process permanently. Raises OSError, which names the step that failed.

    `ask_for_maps` asks the guard to call `write_maps` for this process and waits for it.
    """
    _libc()  # imported now, because the other user may have no access to Python's files
    if spec["by"] == "user":
        os.setgroups(spec["groups"])
        os.setgid(spec["gid"])
        os.setuid(spec["uid"])
        _check_access(spec["name"])
    elif spec["by"] == "namespaces":
        _enter_namespaces(spec["hide"], spec.get("keep", []), ask_for_maps)
    else:
        _restrict_by_landlock(spec["hide"], spec.get("keep", []))
    _prctl(_NO_NEW_PRIVILEGES, 1)  # so that no setuid program can undo the confinement


def close_to_others() -> bool:
    """Makes the memory and environment of this process unreadable for processes of the same user.

    Returns False if the system does not support this. Root can still read everything.
    """
    if sys.platform != "linux":
        return False
    try:
        _prctl(_SET_DUMPABLE, 0)
    except OSError:
        return False
    return True


def write_maps(pid: int) -> None:
    """Maps user and group ids of this user namespace to the same ids in that of the process.

    Without root, only the own user and group id can be mapped. Raises OSError.
    """
    if os.geteuid() == 0:
        users, groups = _all_of("/proc/self/uid_map"), _all_of("/proc/self/gid_map")
    else:
        users, groups = f"{os.geteuid()} {os.geteuid()} 1", f"{os.getegid()} {os.getegid()} 1"
        _write(f"/proc/{pid}/setgroups", "deny")  # otherwise writing gid_map is refused
    _write(f"/proc/{pid}/gid_map", groups)
    _write(f"/proc/{pid}/uid_map", users)


def _check_access(name: str) -> None:
    """Raises PermissionError if the new user has no access to the current directory.

    The process entered that directory before it changed the user.
    """
    try:
        os.stat(".")  # noqa: PTH116  # no pathlib here: it takes long to import
        allowed = os.access(".", os.R_OK | os.X_OK)
    except OSError:
        allowed = False
    if not allowed:
        raise PermissionError(
            f"the user {name} may not read {os.getcwd()}. Give that user access to it"  # noqa: PTH109
        )


# --- namespaces -----------------------------------------------------------------------------------


def _enter_namespaces(hide: list[str], keep: list[str], ask_for_maps: Callable[[], None]) -> None:
    _prctl(_SET_DUMPABLE, 1)  # otherwise a guard without root could not write the maps
    _unshare(_NEW_USER | _NEW_MOUNTS)
    ask_for_maps()
    _mount(None, "/", None, _RECURSIVE | _SLAVE)
    # A mount point cannot be renamed. Otherwise an agent could rename a parent directory and create
    # another one under its name. The next agent's mount would cover that one instead.
    for path in _on_the_way(hide):
        _mount(path, path, None, _BIND | _RECURSIVE)
    kept = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in keep}
    for path in hide:
        _mount("tmpfs", path, "tmpfs", _NOSUID | _NODEV | _NOEXEC, "size=64k,mode=0755")
    for path, fd in kept.items():
        _make_place(path, fd)
        _mount(f"/proc/self/fd/{fd}", path, None, _BIND | _RECURSIVE)
        os.close(fd)
    for path in hide:
        _mount(None, path, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    os.chdir(os.getcwd())  # noqa: PTH109  # enters the new mounts instead of the covered directory
    # Only this capability allows a process to undo the mounts. exec drops it for an ordinary user,
    # but not for root. In a user namespace that the command creates, the kernel locks the mounts.
    _prctl(_DROP_FOR_GOOD, _SYS_ADMIN)


def _on_the_way(paths: list[str]) -> list[str]:
    """Returns all parent directories of the paths without the root, the highest first."""
    above = set()
    for path in paths:
        while (path := os.path.dirname(path)) != "/":  # noqa: PTH120
            above.add(path)
    return sorted(above)


def _make_place(path: str, fd: int) -> None:
    """Creates a mount point at `path`: a directory or an empty file, as `fd` is."""
    import stat

    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.makedirs(path, exist_ok=True)  # noqa: PTH103
    else:
        os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))


def _all_of(file: str) -> str:
    """Returns an identity map of all ids in a map of this process."""
    with open(file, encoding="ascii") as lines:  # noqa: PTH123
        ranges = [line.split() for line in lines]
    return "\n".join(f"{inside} {inside} {count}" for inside, _, count in ranges)


def _write(file: str, text: str) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


# --- Landlock -------------------------------------------------------------------------------------


def _restrict_by_landlock(hide: list[str], keep: list[str]) -> None:
    """Allows all paths except the hidden directories and their parents.

    Landlock has only rules that allow. The parent directories can be listed, but no file can be
    created directly in them.
    """
    import ctypes
    import struct

    version = _syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    everything = _ALL_OF_VERSION[min(version, max(_ALL_OF_VERSION))]
    handled = struct.pack("=Q", everything)
    ruleset = _syscall(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)

    def allow(path: str, rights: int) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return  # deleted meanwhile, or no permission
        try:
            if not os.path.isdir(f"/proc/self/fd/{fd}"):  # noqa: PTH112
                rights &= _ON_FILES
            rule = struct.pack("=Qi", rights & everything, fd)
            _syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        finally:
            os.close(fd)

    allow("/", _LIST)
    for path in _beside(hide):
        allow(path, everything)
    for path in keep:
        allow(path, everything)
    if os.geteuid() == 0:  # these capabilities would let it read other processes despite Landlock
        for capability in (_SYS_PTRACE, _SYS_ADMIN, _PERFMON):
            _prctl(_DROP_FOR_GOOD, capability)
    _prctl(_NO_NEW_PRIVILEGES, 1)  # otherwise only root may restrict itself
    _syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _beside(hide: list[str]) -> list[str]:
    """Returns the topmost paths that are neither hidden nor a parent of a hidden directory."""
    found: list[str] = []
    todo = ["/"]
    while todo:
        above = todo.pop()
        for name in os.listdir(above):  # noqa: PTH208
            path = f"{above.rstrip('/')}/{name}"
            if path in hide or os.path.islink(path):  # noqa: PTH114  # its target has its own rule
                continue
            if any(each.startswith(f"{path}/") for each in hide):
                todo.append(path)
            else:
                found.append(path)
    return found


# --- system calls ---------------------------------------------------------------------------------


def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    import ctypes

    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(number: int, *arguments: Any) -> int:
    return _check(_libc().syscall(number, *arguments), "Landlock")


def _prctl(option: int, value: int) -> None:
    _check(_libc().prctl(option, value, 0, 0, 0), "prctl")


def _unshare(flags: int) -> None:
    _check(_libc().unshare(flags), "user namespaces")


def _mount(
    source: str | None, path: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    import ctypes

    encoded = [None if each is None else os.fsencode(each) for each in (source, path, kind)]
    data = None if options is None else options.encode()
    _check(_libc().mount(*encoded, ctypes.c_ulong(flags), data), f"mount on {path}")
