"""Keeps a command away from directories of its server. The guard runs this just before the command.

Three ways, each by itself enough to make the directories unreadable for the command and its children:

- `namespaces`: the command gets a mount namespace in which an empty file system covers each directory.
- `landlock`: the kernel refuses every access below the directories.
- `user`: the command runs as another user, who may not enter the directories.

In the first two ways the command also cannot read the memory or the environment of processes outside, such
as the server. Only Linux has the first two. Like the guard, this is loaded as a file and imports little.
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
# Rights of Landlock: those that make sense for a file, for listing a directory, and all that each
# version knows. The right to control devices (version 5) is not handled: it opens no file.
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14  # execute, write, read, truncate
_LIST = 1 << 3
_ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}


def apply(spec: dict[str, Any], ask_for_maps: Callable[[], None]) -> None:
    """Confines this process for good. Raises OSError, which names the step that failed.

    `ask_for_maps` has the guard call `write_maps` for this process, and waits until that is done.
    """
    _libc()  # imported now: another user may not be able to read Python's files
    if spec["by"] == "user":
        os.setgroups(spec["groups"])
        os.setgid(spec["gid"])
        os.setuid(spec["uid"])
        _check_access(spec["name"])
    elif spec["by"] == "namespaces":
        _enter_namespaces(spec["hide"], spec.get("keep", []), ask_for_maps)
    else:
        _restrict_by_landlock(spec["hide"], spec.get("keep", []))
    _prctl(_NO_NEW_PRIVILEGES, 1)  # no setuid program may undo it


def close_to_others() -> bool:
    """Makes this process's memory and environment unreadable for others of the same user.

    Returns False where the system has no way to do that. Root may still read everything.
    """
    if sys.platform != "linux":
        return False
    try:
        _prctl(_SET_DUMPABLE, 0)
    except OSError:
        return False
    return True


def write_maps(pid: int) -> None:
    """Lets the users and groups of this user namespace keep their numbers in that of the process.

    An ordinary user may do that for their own number only. Raises OSError.
    """
    if os.geteuid() == 0:
        users, groups = _all_of("/proc/self/uid_map"), _all_of("/proc/self/gid_map")
    else:
        users, groups = f"{os.geteuid()} {os.geteuid()} 1", f"{os.getegid()} {os.getegid()} 1"
        _write(f"/proc/{pid}/setgroups", "deny")  # otherwise the next one is refused
    _write(f"/proc/{pid}/gid_map", groups)
    _write(f"/proc/{pid}/uid_map", users)


def _check_access(name: str) -> None:
    """The directory was entered before the user was changed."""
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
    _prctl(_SET_DUMPABLE, 1)  # or an ordinary user's guard could not write the maps
    _unshare(_NEW_USER | _NEW_MOUNTS)
    ask_for_maps()
    _mount(None, "/", None, _RECURSIVE | _SLAVE)
    # What is mounted on cannot be renamed. Otherwise an agent could move a directory on the way, put another
    # in its place, and the next agent's mount would cover that one.
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
    os.chdir(os.getcwd())  # noqa: PTH109  # by the new mounts: the old ones lead to what they cover
    # Only with this capability could the mounts be undone. An ordinary user's program has it no more in any
    # case; root's keeps what is not dropped here. In any user namespace that it makes, the mounts are locked.
    _prctl(_DROP_FOR_GOOD, _SYS_ADMIN)


def _on_the_way(paths: list[str]) -> list[str]:
    """The directories above these, without the root, the upper ones first."""
    above = set()
    for path in paths:
        while (path := os.path.dirname(path)) != "/":  # noqa: PTH120
            above.add(path)
    return sorted(above)


def _make_place(path: str, fd: int) -> None:
    """Makes what `path` can be mounted on: a directory for a directory, a file for a file."""
    import stat

    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.makedirs(path, exist_ok=True)  # noqa: PTH103
    else:
        os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))


def _all_of(file: str) -> str:
    """The numbers that a map of this process has, as a map that changes none of them."""
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
    """Landlock knows only what is allowed: everything that lies beside the way to a hidden directory.

    Directories on that way may be listed, but nothing new can be made directly in them.
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
            return  # gone meanwhile, or not ours to see
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
    if os.geteuid() == 0:  # with any of these it could read other processes in spite of Landlock
        for capability in (_SYS_PTRACE, _SYS_ADMIN, _PERFMON):
            _prctl(_DROP_FOR_GOOD, capability)
    _prctl(_NO_NEW_PRIVILEGES, 1)  # otherwise only root may restrict itself
    _syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _beside(hide: list[str]) -> list[str]:
    """Every path that is neither hidden nor on the way to something hidden, as high up as it can be."""
    found: list[str] = []
    todo = ["/"]
    while todo:
        above = todo.pop()
        for name in os.listdir(above):  # noqa: PTH208
            path = f"{above.rstrip('/')}/{name}"
            if path in hide or os.path.islink(path):  # noqa: PTH114  # its target has rights of its own
                continue
            if any(each.startswith(f"{path}/") for each in hide):
                todo.append(path)
            else:
                found.append(path)
    return found


# --- the system -----------------------------------------------------------------------------------


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
