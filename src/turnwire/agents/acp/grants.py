"""What a person has allowed with a permission: the files and the command that its request named."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from turnwire.dialects.acp.messages import NewTerminal, WriteParams

__all__ = ["Grant", "Grants"]

Command: TypeAlias = str | list[str]  # a line for a shell, or a program with its arguments

_UNSAID = (None, "other")  # kinds of a call that say nothing about it
# Names of arguments, in small letters and without underscores.
_PATHS = ("path", "filepath", "filename", "file", "absolutepath", "targetfile", "notebookpath")
_COMMANDS = ("command", "cmd")
_DIRECTORIES = ("cwd", "workdir", "workingdirectory", "directory")
_SHELLS = {
    f"{folder}{name}"
    for folder in ("", "/bin/", "/usr/bin/")
    for name in ("sh", "bash", "dash", "zsh")
}
_SCRIPT = ("-c", "-lc", "-cl")  # the next argument is a line for the shell


class Grant:
    """What one request named. `cwd` is the working directory of the conversation.

    Paths are resolved when the permission is asked for: a link that changes later opens nothing.
    """

    def __init__(self, fields: Mapping[str, Any], cwd: str) -> None:
        given = fields.get("rawInput")
        told: dict[str, Any] = {}
        if isinstance(given, dict):
            told = {_plain(name): value for name, value in given.items()}
        kind = fields.get("kind")
        self.call_id = fields.get("toolCallId")
        self.paths: set[Path] = set()
        self.command: Command | None = None
        self._texts: list[Any] | None = None  # what may be written; None: anything
        named = _all_resolved(cwd, (told.get(name) for name in _PATHS))
        diffs = list(_diffs(fields))
        if kind == "edit":
            shown = (each.get("path") for each in (*_locations(fields), *diffs))
            self.paths = named or _all_resolved(cwd, shown)
        elif kind in _UNSAID:
            self.paths = named | _all_resolved(cwd, (each.get("path") for each in diffs))
            self._texts = [*told.values(), *(each.get("newText") for each in diffs)]
        if kind == "execute" or kind in _UNSAID:
            self.command = _command(told)
        if kind == "execute" and self.command is None and isinstance(fields.get("title"), str):
            self.command = fields["title"].strip().strip("`").strip() or None
        where = next((told[name] for name in _DIRECTORIES if name in told), cwd)
        self._directory = _resolved(cwd, where)
        variables = told.get("env")
        self._variables = variables if isinstance(variables, dict) else {}

    def allows_write(self, path: Path, content: str) -> bool:
        """Returns whether the request named this file, as one that is written."""
        return path in self.paths and (self._texts is None or content in self._texts)

    def allows_command(self, command: Command, cwd: Path, variables: Mapping[str, str]) -> bool:
        """Returns whether the request named this command, in this directory."""
        if self.command is None or cwd != self._directory:
            return False
        are_named = all(self._variables.get(name) == value for name, value in variables.items())
        return are_named and _is_same(self.command, command)


class Grants:
    """The permissions of a session that the host acts on. A grant is used up by what it allows."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._once: list[Grant] = []  # in this turn, until its call ends
        self._always: list[Grant] = []  # in this session

    def of(self, fields: Mapping[str, Any]) -> Grant:
        """Returns what a request names, from the fields of its tool call."""
        return Grant(fields, self._cwd)

    def add(self, grant: Grant, *, always: bool) -> None:
        """Adds what a person has allowed, once or for the session."""
        (self._always if always else self._once).append(grant)

    def take_write(self, params: WriteParams) -> bool:
        """Returns whether a person has allowed this write, and uses the grant up."""
        path = _resolved(self._cwd, params.path)
        if path is None:
            return False
        if any(grant.allows_write(path, params.content) for grant in self._always):
            return True
        for grant in self._once:
            if grant.allows_write(path, params.content):
                grant.paths.discard(path)
                return True
        return False

    def take_command(self, params: NewTerminal) -> bool:
        """Returns whether a person has allowed this command, and uses the grant up."""
        cwd = _resolved(self._cwd, params.cwd or self._cwd)
        variables = {each.name: each.value for each in params.env or ()}
        wanted = _run(params)
        if cwd is None:
            return False
        if any(grant.allows_command(wanted, cwd, variables) for grant in self._always):
            return True
        for grant in self._once:
            if grant.allows_command(wanted, cwd, variables):
                grant.command = None
                return True
        return False

    def call_ended(self, call_id: str) -> None:
        """Forgets what was allowed once for a call that has its result."""
        self._once = [grant for grant in self._once if grant.call_id != call_id]

    def turn_ended(self) -> None:
        """Forgets what was allowed once."""
        self._once = []


# --- paths ----------------------------------------------------------------------------------------


def _plain(name: Any) -> str:
    return str(name).replace("_", "").lower()


def _resolved(cwd: str, path: Any) -> Path | None:
    if not isinstance(path, str) or not path:
        return None
    try:
        return Path(cwd, path.removeprefix("file://")).resolve()
    except (OSError, ValueError, RuntimeError):  # no path: a zero byte, or links in a circle
        return None


def _all_resolved(cwd: str, paths: Iterable[Any]) -> set[Path]:
    found = (_resolved(cwd, path) for path in paths)
    return {path for path in found if path is not None}


def _locations(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each for each in fields.get("locations") or () if isinstance(each, dict)]


def _diffs(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each for each in fields.get("content") or () if each.get("type") == "diff"]


# --- commands -------------------------------------------------------------------------------------


def _command(told: Mapping[str, Any]) -> Command | None:
    """Returns the command in the arguments of a call."""
    named = next((told[name] for name in _COMMANDS if name in told), None)
    more = told.get("args")
    parts = named if isinstance(named, list) else [named]
    parts = [*parts, *(more if isinstance(more, list) else ())]
    texts = [each for each in parts if isinstance(each, str)]
    if not texts or len(texts) < len(parts):
        return None
    if isinstance(named, str) and len(texts) == 1:
        return named.strip() or None
    return _without_shell(texts)


def _run(params: NewTerminal) -> Command:
    """Returns the command of a terminal. Without arguments, a shell reads it."""
    if not params.args and " " in params.command:
        return params.command.strip()
    return _without_shell([params.command, *(params.args or ())])


def _without_shell(parts: list[str]) -> Command:
    is_script = len(parts) == 3 and parts[0] in _SHELLS and parts[1] in _SCRIPT
    return parts[2].strip() if is_script else parts


def _is_same(allowed: Command, wanted: Command) -> bool:
    if isinstance(allowed, list) and isinstance(wanted, str):
        return shlex.join(allowed) == wanted
    if isinstance(allowed, str) and isinstance(wanted, list):
        try:
            return shlex.split(allowed) == wanted
        except ValueError:  # an open quote
            return False
    return allowed == wanted
