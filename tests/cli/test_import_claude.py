"""`turnwire import --from claude`: histories of every kind, and missing ones."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.cli.conftest import TURNWIRE, Tell, lines
from tests.cli.helpers.terminal import Terminal
from tests.helpers.privileges import like_everybody
from turnwire.cli.home import Home, run_async
from turnwire.core.content import TextContent
from turnwire.core.conversation.effects import Audit
from turnwire.core.conversation.state import Waiting
from turnwire.core.status import QueueItem
from turnwire.ports import Commit
from turnwire.stores.sqlite import SqliteStore, fsck

SESSION = "5e55-0001"


class History:
    """Writes history files as Claude Code does."""

    def __init__(self, config: Path, project: Path) -> None:
        self.config = config
        self.project = project
        self.folder = config / "projects" / re.sub("[^a-zA-Z0-9]", "-", str(project))
        self._count = 0

    def write(self, *records: Any, session: str = SESSION, name: str | None = None) -> Path:
        """More lines of a session; a string is written as it is."""
        path = self.folder / (name or f"{session}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            for record in records:
                self._count += 1
                if isinstance(record, dict):
                    at = f"2026-01-02T03:04:{self._count:02}.000Z"
                    own = {"timestamp": at, "sessionId": session, "cwd": str(self.project)}
                    record = json.dumps({**own, **record})
                print(record, file=file)
        return path


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    project = tmp_path / "project"
    project.mkdir()
    return History(tmp_path / "config", project)


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def model(uuid: str, parent: str, *content: Any, stop: str = "end_turn", **more: Any) -> Any:
    said = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    message = {"id": f"msg_{uuid}", "role": "assistant", "content": said, "stop_reason": stop}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def call(name: str, tool: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(uuid: str, parent: str, name: str, said: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": name, "content": said}
    return user(uuid, parent, [block], **more)


HELLO = [user("u1", None, "hi"), model("a1", "u1", "Hello.")]


def bring(tell: Tell, home: Path, *more: str | Path) -> Any:
    """Import; the log is sound."""
    [told] = lines(tell("import", "--from", "claude", "--json", *more))
    assert not fsck.check(home / "turnwire.db", now=time.time_ns() // 1_000_000).findings
    return told


def log(tell: Tell, name: str) -> list[dict[str, Any]]:
    """Returns the entries of a conversation: role, text and known fields."""
    out = []
    for each in lines(tell("export", "--to", "jsonl", name)):
        if each["kind"] == "entry":
            message = each["message"]
            [payload] = [part["payload"] for part in message["parts"]] or [{}]
            known = {"at": message["timestamp"], **message["meta"], **payload}
            out.append({"role": message["role"], **known})
    return out


def words(entries: list[dict[str, Any]]) -> list[Any]:
    return [each.get("text", each.get("content", each.get("toolCallId"))) for each in entries]


def turns(tell: Tell, name: str) -> list[dict[str, Any]]:
    exported = lines(tell("export", "--to", "jsonl", name))
    return [each["end"] for each in exported if each["kind"] == "turn"]


# --- no history, and unusable histories ---------------------------------------------------------


def test_an_import_without_a_history_gives_advice(tell: Tell, history: History) -> None:
    told = tell("import", "--from", "claude")
    assert told.exit_code == 2
    assert "CLAUDE_CONFIG_DIR" in told.stderr
    history.write({"type": "queue-operation"})
    told = tell("import", "--from", "claude")
    assert (told.exit_code, told.stdout) == (0, "No session has a message.\n")


def test_an_imported_session_is_not_the_conversations_own(
    tell: Tell, home: Path, history: History
) -> None:
    """A person began the session: it is not removed with the conversation."""
    history.write(*HELLO)
    [brought] = bring(tell, home)["conversations"]

    async def look() -> None:
        store = await SqliteStore.open(home / "turnwire.db")
        row = await store.conversation(brought["conversation_id"])
        assert row is not None
        assert row.native_session_id == brought["session_id"]
        assert not row.owns_session
        await store.close()

    asyncio.run(look())


def test_an_import_of_a_project_without_sessions_gives_advice(tell: Tell, history: History) -> None:
    history.write(*HELLO)
    told = tell("import", "--from", "claude", "--project", "/nowhere")
    assert told.exit_code == 2
    assert "leave out --project" in told.stderr


def test_an_import_of_an_unreadable_history_gives_advice(tell: Tell, history: History) -> None:
    history.write(*HELLO)
    (history.config / "projects").chmod(0)
    with like_everybody():
        told = tell("import", "--from", "claude")
    (history.config / "projects").chmod(0o700)
    assert told.exit_code == 2
    assert "CLAUDE_CONFIG_DIR" in told.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--from", "claude", "file.jsonl"],
        [],
        ["--leaf", "x", "file.jsonl"],
        ["--project", ".", "file.jsonl"],
    ],
)
def test_options_that_do_not_go_together_are_refused(tell: Tell, args: list[str]) -> None:
    told = tell("import", *args)
    assert told.exit_code == 2
    assert told.stderr


# --- one session --------------------------------------------------------------------------------


def test_times_title_and_directory_are_those_of_the_session(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO, {"type": "summary", "summary": "A greeting", "leafUuid": "a1"})
    told = tell("import", "--from", "claude")
    assert told.stdout.splitlines()[0].endswith("  2 entries  A greeting")
    assert told.stdout.splitlines()[1] == "1 conversation imported."
    [row] = lines(tell("list", "--json"))
    name = row["conversation_id"]
    entries = log(tell, name)
    assert words(entries) == ["hi", "Hello."]
    assert [each["at"] for each in entries] == [
        "2026-01-02T03:04:01.000Z",
        "2026-01-02T03:04:02.000Z",
    ]
    head = lines(tell("export", "--to", "jsonl", name))[0]
    assert (head["title"], head["cwd"], head["agent"]) == (
        "A greeting",
        str(history.project),
        "claude",
    )
    assert (head["created_at"], head["updated_at"]) == (entries[0]["at"], entries[1]["at"])
    [end] = turns(tell, name)
    assert end["duration_ms"] == 1000
    again = tell("import", "--from", "claude")
    assert again.stdout == "Nothing new in 1 conversation.\n"
    assert bring(tell, home)["conversations"][0]["conversation_id"] == name, "it keeps its id"


def test_bad_lines_are_reported_with_their_number_and_nothing_else_is_lost(
    tell: Tell, history: History, home: Path
) -> None:
    path = history.write(
        *HELLO,
        "{broken",
        user("u2", "gone", "are you there?"),
        model("a2", "u2", "Yes."),
        '{"type":"user"',
    )
    told = tell("import", "--from", "claude")
    assert told.exit_code == 0
    first, second = told.stderr.splitlines()
    assert first.startswith(f"turnwire: {path}:3: ")
    assert second.startswith(f"turnwire: {path}:6: ")
    [one] = bring(tell, home)["conversations"]
    assert words(log(tell, one["conversation_id"])) == ["hi", "Hello.", "are you there?", "Yes."]
    history.write(*["{"] * 30)
    told = tell("import", "--from", "claude")
    assert told.stderr.endswith("turnwire: and 12 lines more\n")
    assert len(bring(tell, home)["bad_lines"]) == 32


def test_a_session_that_grew_is_imported_incrementally(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO)
    [one] = bring(tell, home)["conversations"]
    history.write(user("u2", "a1", "more"), model("a2", "u2", "More."))
    told = tell("import", "--from", "claude")
    assert told.stdout.splitlines() == [
        f"{one['conversation_id']}  2 more entries  hi",
        "1 conversation updated.",
        "See them: turnwire list",
    ]
    assert words(log(tell, one["conversation_id"])) == ["hi", "Hello.", "more", "More."]
    [same] = bring(tell, home)["conversations"]
    assert (same["entries"], same["new"]) == (0, False)


def test_a_session_that_still_worked_when_it_was_imported_loses_nothing(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(
        user("u1", None, "run"), model("a1", "u1", call("c1", command="make"), stop="tool_use")
    )
    [one] = bring(tell, home)["conversations"]
    name = one["conversation_id"]
    assert turns(tell, name)[0]["interrupted"]
    history.write(result("r1", "a1", "c1", "made"), model("a2", "r1", "Done."))
    bring(tell, home)
    entries = log(tell, name)
    assert entries[-1]["text"] == "Done."
    [late] = [each for each in entries if "made" in json.dumps(each.get("data"))]
    assert late["data"]["subtype"] == "late_tool_result"
    assert [(end["interrupted"], end.get("origin", "user")) for end in turns(tell, name)] == [
        (True, "user"),
        (False, "agent"),
    ]
    assert bring(tell, home)["conversations"][0]["entries"] == 0


def test_a_session_that_went_back_is_reported(tell: Tell, history: History, home: Path) -> None:
    history.write(*HELLO, user("u2", "a1", "left"), model("a2", "u2", "Left."))
    [one] = bring(tell, home)["conversations"]
    history.write(user("u3", "a1", "right"), model("a3", "u3", "Right."))
    bring(tell, home)
    entries = log(tell, one["conversation_id"])
    assert words(entries)[:4] == ["hi", "Hello.", "left", "Left."]
    assert words(entries)[5:] == ["right", "Right."]
    assert entries[4]["data"]["subtype"] == "went_back"
    assert entries[4]["data"]["data"]["to"] == "a1"
    assert bring(tell, home)["conversations"][0]["entries"] == 0
    history.write(user("u4", "a3", "on"), model("a4", "u4", "On."))
    assert bring(tell, home)["conversations"][0]["entries"] == 2, "it went back once"


def test_a_named_leaf_is_a_conversation_of_its_own(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO, user("u2", "a1", "left"), model("a2", "u2", "Left."))
    history.write(user("u3", "a1", "right"), model("a3", "u3", "Right."))
    history.write(user("x1", None, "another"), session="5e55-0002")
    [left] = bring(tell, home, "--leaf", "a2")["conversations"]
    assert words(log(tell, left["conversation_id"])) == ["hi", "Hello.", "left", "Left."]
    [newest] = bring(tell, home, "--leaf", "a3")["conversations"]
    assert words(log(tell, newest["conversation_id"])) == ["hi", "Hello.", "right", "Right."]
    again = {each["conversation_id"]: each for each in bring(tell, home)["conversations"]}
    assert again[newest["conversation_id"]]["entries"] == 0, "the newest is the session itself"
    assert left["conversation_id"] not in again
    assert bring(tell, home, "--leaf", "a2")["conversations"][0]["entries"] == 0
    told = tell("import", "--from", "claude", "--leaf", "nothing")
    assert told.exit_code == 2
    assert "no session has a message nothing" in told.stderr


def test_sub_agents_of_older_versions_are_nested_as_well(
    tell: Tell, history: History, home: Path
) -> None:
    side: dict[str, Any] = {"isSidechain": True}
    history.write(
        user("u1", None, "go"),
        model("a1", "u1", call("c1", "Task", prompt="look"), stop="tool_use"),
        user("s1", None, "look", **side),
        model("s2", "s1", "I see.", **side),
        result("r1", "a1", "c1", "seen"),
        model("a2", "r1", call("c2", "Task", prompt="listen"), stop="tool_use"),
    )
    side["agentId"] = "ear"
    history.write(
        user("t1", None, "listen to it", **side),
        model("t2", "t1", "I hear.", **side),
        name="agent-ear.jsonl",
    )
    history.write("{", name="agent-broken.jsonl")
    history.write("[]", name="agent-other.jsonl")
    history.write(
        result("r2", "a2", "c2", "heard", toolUseResult={"agentId": "ear"}),
        model("a3", "r2", "Done."),
    )
    [one] = bring(tell, home)["conversations"]
    entries = log(tell, one["conversation_id"])
    nested = {
        each["text"]: each["parentToolUseId"] for each in entries if "parentToolUseId" in each
    }
    assert nested == {"look": "c1", "I see.": "c1", "listen to it": "c2", "I hear.": "c2"}


def test_commands_and_notices_of_the_program_are_imported(
    tell: Tell, history: History, home: Path
) -> None:
    error: dict[str, Any] = {"error": "rate_limit", "isApiErrorMessage": True}
    history.write(
        user("u1", None, "<command-name>/model</command-name>"),
        user("u2", "u1", "<local-command-stdout>Set.</local-command-stdout>"),
        user("u3", "u2", "never answered"),
        user("u4", "u3", "run"),
        model("a1", "u4", call("c1"), stop="tool_use"),
        result("r1", "a1", "c1", "ok"),
        {
            "type": "attachment",
            "uuid": "q1",
            "parentUuid": "r1",
            "attachment": {"type": "queued_command", "prompt": "and then"},
        },
        model("a2", "q1", "API Error", **error),
        user("u5", "a2", "ask me"),
        model("a3", "u5", call("c2", "AskUserQuestion", questions=[]), stop="tool_use"),
        result("r2", "a3", "c2", "Said no.", toolUseResult={"answers": {"Sure?": "No"}}),
        {**model("a4", "r2", "Then"), "message": {"content": "not."}},
        {"type": "system", "subtype": "informational", "uuid": "n1", "parentUuid": "a4"},
    )
    [one] = bring(tell, home)["conversations"]
    name = one["conversation_id"]
    ends = [
        "error" if end["is_error"] else "interrupted" if end["interrupted"] else "done"
        for end in turns(tell, name)
    ]
    assert ends == ["done", "interrupted", "done", "error", "done"]
    assert turns(tell, name)[3]["error"]["code"] == "rate_limit"
    said = [each["text"] for each in log(tell, name) if each.get("origin") == "user"]
    assert said == ["/model", "never answered", "run", "and then", "ask me"]
    [answered] = [each for each in log(tell, name) if each.get("messageType") == "request_resolved"]
    assert (answered["data"]["outcome"], answered["data"]["answer"]) == (
        "answered",
        {"Sure?": "No"},
    )


# --- during other work --------------------------------------------------------------------------


def test_only_the_sessions_of_the_project_are_imported(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO)
    other = History(history.config, history.project.parent / "other.place")
    other.write(user("x1", None, "elsewhere"), session="5e55-0002")
    [one] = bring(tell, home, "--project", history.project)["conversations"]
    assert one["session_id"] == SESSION
    long = History(history.config, Path("/" + "x" * 300))
    long.folder = long.folder.with_name(f"{long.folder.name[:200]}-1a2b3c")
    long.write(user("y1", None, "far"), session="5e55-0003")
    [one] = bring(tell, home, "--project", long.project)["conversations"]
    assert one["session_id"] == "5e55-0003"
    assert len(bring(tell, home)["conversations"]) == 3


def test_a_conversation_with_a_live_owner_is_not_changed(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO)
    [one] = bring(tell, home)["conversations"]
    name = one["conversation_id"]
    history.write(user("u2", "a1", "more"), model("a2", "u2", "More."))

    async def own(owner: str) -> None:
        async with Home(home).store() as store:
            now = time.time_ns() // 1_000_000
            await store.claim(name, owner, now=now, lease=60_000)

    run_async(own("elsewhere:1:x"))
    told = tell("import", "--from", "claude")
    assert told.exit_code == 0
    assert f"{name}  not changed: another process runs it" in told.stderr
    assert words(log(tell, name)) == ["hi", "Hello."]


def test_a_conversation_in_which_something_waits_is_left_alone(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO)
    [one] = bring(tell, home)["conversations"]
    name = one["conversation_id"]
    history.write(user("u2", "a1", "more"), model("a2", "u2", "More."))
    item = QueueItem("q1", [TextContent("next")])

    async def wait() -> None:
        async with Home(home).store() as store:
            claim = await store.claim(name, "x", now=time.time_ns() // 1_000_000, lease=60_000)
            row = await store.conversation(name)
            assert row is not None
            state = structs.replace(row.state, queue=[Waiting(item, "t")], held=True)
            said = Audit("said", None, {"queue_id": "q1"})
            await store.commit(Commit(claim, state, [said], row.updated_at))
            await store.release(claim)

    run_async(wait())
    [left] = bring(tell, home)["conversations"]
    assert (left["entries"], left["refused"]) == (
        0,
        "a turn or message is open; import again when it has ended",
    )


def test_a_damaged_conversation_is_reported_and_the_others_are_imported(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO)
    [one] = bring(tell, home)["conversations"]
    with sqlite3.connect(home / "turnwire.db") as db:
        db.execute("UPDATE conversations SET state_json = '{'")
    history.write(user("x1", None, "another"), session="5e55-0002")
    told = tell("import", "--from", "claude")
    assert told.exit_code == 0
    assert f"{one['conversation_id']}  not changed: " in told.stderr
    assert "turnwire fsck --repair" in told.stderr
    assert "1 conversation imported" in told.stdout


def test_an_unreadable_file_is_reported_and_the_others_are_imported(
    tell: Tell, history: History
) -> None:
    path = history.write(*HELLO)
    path.chmod(0)
    history.write(user("x1", None, "another"), session="5e55-0002")
    with like_everybody():
        told = tell("import", "--from", "claude")
    assert told.exit_code == 0
    assert told.stderr == f"turnwire: {path}: cannot be read: Permission denied. Skipped.\n"
    assert "1 conversation imported." in told.stdout


def test_an_import_that_was_killed_goes_on_where_it_was(
    tell: Tell, history: History, home: Path
) -> None:
    history.write(*HELLO, user("u2", "a1", "more"), model("a2", "u2", "More."))
    dies = (
        "import os, turnwire.stores.sqlite as s\n"
        "commit = s.SqliteStore.commit\n"
        "async def once(self, c):\n"
        "    await commit(self, c)\n"
        "    os.kill(os.getpid(), 9)\n"
        "s.SqliteStore.commit = once\n"
    )
    command = [sys.executable, "-c", dies + TURNWIRE[-1], "import", "--from", "claude"]
    env = {**os.environ, "TURNWIRE_DATA_DIR": str(home)}
    killed = subprocess.run(command, env=env, capture_output=True, timeout=180, check=False)
    assert killed.returncode == -9, killed.stderr
    [one] = bring(tell, home)["conversations"]
    assert (one["entries"], one["refused"]) == (2, None)
    assert words(log(tell, one["conversation_id"])) == ["hi", "Hello.", "more", "More."]


def test_ctrl_c_leaves_no_partial_import_and_says_how_to_go_on(
    tell: Tell, history: History, home: Path
) -> None:
    sessions = [f"5e55-000{number}" for number in range(3)]
    content = b""
    for number, session in enumerate(sessions):
        told = [user("u", None, "hello"), model("a", "u", "hi")]
        path = history.write(*told, session=session)
        if number == 1:  # a pipe: so the test knows when it is at this one
            content = path.read_bytes()
            path.unlink()
            os.mkfifo(path)
        os.utime(path, (number, number))
    env = {**os.environ, "TURNWIRE_DATA_DIR": str(home)}
    command = [*TURNWIRE, "import", "--from", "claude"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        pipe = history.folder / f"{sessions[1]}.jsonl"
        with pipe.open("wb") as writing:  # when it reads
            ran.send_signal(signal.SIGINT)
            writing.write(content)
        out, err = ran.communicate(timeout=180)
    assert ran.returncode == 130
    assert b"2 conversations imported" in out
    assert err.decode() == (
        "turnwire: stopped. Every imported conversation is complete. "
        "Import the rest: turnwire import --from claude\n"
    )
    assert [each["turns"] for each in lines(tell("list", "--json"))] == [1, 1]
    pipe.unlink()
    assert "1 conversation imported" in tell("import", "--from", "claude").stdout


def test_an_import_shows_its_progress(history: History, home: Path) -> None:
    history.write(*HELLO)
    with Terminal("import", "--from", "claude", home=home) as terminal:
        assert terminal.end() == 0
        assert terminal.drew("Importing")
        assert terminal.drew("100%")


def test_a_directory_in_the_lines_is_kept_only_if_the_folder_is_named_after_it(
    history: History, tell: Tell
) -> None:
    """A file may name any directory; Claude Code finds a session only where its folder says."""
    history.write(*({**record, "cwd": "/etc"} for record in HELLO))
    told = tell("import", "--from", "claude")
    [row] = lines(tell("list", "--json"))
    assert row["cwd"] is None
    assert f"{row['conversation_id']}  reset: cwd: " in told.stderr
    history.write(*HELLO, session="another")
    (imported,) = lines(tell("import", "--from", "claude", "--json"))
    assert {each["session_id"]: each["reset"] for each in imported["conversations"]} == {
        SESSION: [],  # it was there before
        "another": [],
    }
