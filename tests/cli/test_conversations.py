"""The commands about conversations: list, show, search, export, import, backup, inbox."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Tell, lines
from tests.cli.helpers.agents import MISSING, QUICK, SCRIPTED, SLOW
from tests.cli.helpers.terminal import Terminal
from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.cli.home import Home, default_path
from turnwire.cli.restore import Restorer
from turnwire.core.conversation import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.message import BlobRef, ImagePart, ImagePayload, TextPart, TextPayload, to_json
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.frames import AssistantComplete, AssistantRequestInput, UnknownFrame
from turnwire.engine.export.jsonl import HeadLine, lines_of
from turnwire.engine.export.tool_markdown import block_markdown
from turnwire.ports import AgentCapabilities, NewConversation
from turnwire.stores.sqlite import SqliteStore


@pytest.fixture
def talked(tell: Tell) -> str:
    """A conversation with two turns, one of which failed."""
    tell("run", "--agent", QUICK, "think tool subagent plan")
    (conversation,) = lines(tell("list", "--json"))
    name: str = conversation["conversation_id"]
    assert tell("run", "--conversation", name, "error").exit_code == 1
    return name


# --- run without a terminal --------------------------------------------------------------------


def test_a_pipe_gets_plain_text(tell: Tell) -> None:
    ran = tell("run", "--agent", QUICK, stdin=b"think tool")
    assert (ran.exit_code, ran.stderr) == (0, "")
    said = ran.stdout
    assert "\x1b" not in said
    assert "(thinking) The person wants to see me think." in said
    assert "I have thought about it: **42** is still a good answer.\n" in said
    assert "✓ Command  List the files" in said
    assert said.splitlines()[-1].startswith("Go on: turnwire run --conversation ")


def test_json_is_protocol_v2_line_by_line(tell: Tell) -> None:
    ran = tell("run", "--agent", QUICK, "--json", "think tool")
    assert (ran.exit_code, ran.stderr) == (0, "")
    frames = [decode(line) for line in ran.stdout.splitlines()]
    assert not any(isinstance(frame, UnknownFrame) for frame in frames)
    told = lines(ran)
    assert [frame["sequence"] for frame in told] == list(range(1, len(told) + 1))
    kinds = [frame["type"] for frame in told]
    assert kinds[0] == "session.connected"
    assert kinds.count("assistant.complete") == 1
    assert "assistant.tool_result" in kinds


def test_json_output_leaves_a_question_open_and_says_so_on_stderr(tell: Tell) -> None:
    ran = tell("run", "--agent", QUICK, "--json", "ask")
    assert ran.exit_code == 3
    assert lines(ran)[-1]["type"] == "session.state"
    assert ran.stderr.startswith("Left open: Which colour shall it be? Answer it: turnwire answer ")


def test_a_turn_that_fails_is_exit_code_1(tell: Tell) -> None:
    ran = tell("run", "--agent", QUICK, "error")
    assert ran.exit_code == 1
    assert "The demo failed, as it was asked to." in ran.stdout


def test_the_command_to_go_on_names_the_directory_that_was_named(run: Run, tmp_path: Path) -> None:
    ran = run("run", "--data-dir", tmp_path / "my data", "--agent", QUICK, "think")
    last = ran.stdout.splitlines()[-1]
    assert last.startswith(
        f"Go on: turnwire run --data-dir '{tmp_path / 'my data'}' --conversation "
    )


# --- runs that cannot start ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["--agent", "missing", "x"],
            "There is no agent 'missing'; there is: claude, codex, demo, replay.",
        ),
        (["--agent", MISSING, "x"], "Install it with: apt install missing"),
        (["--cwd", "/nowhere", "x"], "/nowhere is not a directory. Create it, or name another"),
        (["  "], "the message is empty. Give a PROMPT, or pipe one in."),
        (["--conversation", "abc", "--cwd", "/", "x"], "Leave out --cwd."),
        (["--conversation", "abc", "x"], "There are no conversations in"),
    ],
)
def test_a_run_that_cannot_start_gives_advice(args: list[str], said: str, tell: Tell) -> None:
    ran = tell("run", *args)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert ran.stdout == ""
    assert tell("list", "--json").stdout == ""


def test_another_agent_takes_the_conversation_over(talked: str, tell: Tell) -> None:
    ran = tell("run", "--conversation", talked, "--agent", "replay", "x")
    assert ran.exit_code == 0, ran.stderr
    assert '"agent":"replay"' in tell("list", "--json").stdout.replace(": ", ":")
    assert "replay speaks from here on" in tell("show", talked).stdout
    document = tell("export", talked, "--to", "markdown").stdout
    assert (
        document.index("## demo") < document.index("*Agent: replay*") < document.index("## replay")
    )
    assert tell("run", "--conversation", talked, "--agent", QUICK, "x").exit_code == 0
    back = tell("export", talked, "--to", "markdown").stdout
    assert back.count("## demo") == document.count("## demo") + 1


def test_a_conversation_of_several_agents_is_imported_with_its_last_one(
    talked: str, tell: Tell, tmp_path: Path
) -> None:
    assert tell("run", "--conversation", talked, "--agent", "replay", "x").exit_code == 0
    file = str(tmp_path / "talk.jsonl")
    assert tell("export", talked, "--to", "jsonl", "--out", file).exit_code == 0
    imported = tell("import", file)
    assert imported.exit_code == 0, imported.stderr
    rows = [json.loads(line) for line in tell("list", "--json").stdout.splitlines()]
    (copy,) = [row["conversation_id"] for row in rows if row["conversation_id"] != talked]
    assert {row["agent"] for row in rows} == {"replay"}
    assert "replay speaks from here on" in tell("show", copy).stdout
    assert tell("run", "--conversation", copy, "--agent", QUICK, "x").exit_code == 0
    assert tell("fsck").exit_code == 0


# --- the data directory -------------------------------------------------------------------------


def test_the_data_directory_is_private_to_its_owner(tell: Tell, home: Path) -> None:
    tell("run", "--agent", QUICK, "think")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in home.iterdir())


def test_the_data_directory_is_in_the_systems_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_path() == Path("/data/turnwire")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_path() == Path("/home/ann/.local/share/turnwire")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_path() == Path("/home/ann/Library/Application Support/turnwire")


# --- nothing yet ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["list"], ["inbox"], ["search", "x"]])
def test_looking_at_nothing_makes_nothing(command: list[str], tell: Tell, home: Path) -> None:
    looked = tell(*command)
    assert (looked.exit_code, looked.stderr) == (0, "")
    assert looked.stdout
    assert tell(*command, "--json").stdout == ""
    assert not home.exists()


def test_an_empty_list_says_how_to_start(tell: Tell, home: Path) -> None:
    said = f"There are no conversations in {home} yet. Start one: turnwire run hello\n"
    assert tell("list").stdout == said


@pytest.mark.parametrize(
    "command", [["show", "x"], ["export", "x", "--to", "jsonl"], ["answer", "x"], ["backup", "x"]]
)
def test_a_command_that_needs_a_conversation_says_how_to_start_one(
    command: list[str], tell: Tell
) -> None:
    ended = tell(*command)
    assert ended.exit_code == 2
    assert "Start one: turnwire run hello\n" in ended.stderr


# --- ids --------------------------------------------------------------------------------------------


def test_an_unknown_id_names_the_nearest(talked: str, tell: Tell) -> None:
    mistyped = f"{talked[:-1]}_"
    said = f"turnwire: there is no conversation '{mistyped}'. Did you mean {talked}?\n"
    assert tell("show", mistyped).stderr == said
    far = tell("show", "_").stderr
    assert far == "turnwire: there is no conversation '_'. List the conversations: turnwire list\n"


def test_letters_that_begin_several_ids_are_not_enough(tell: Tell, home: Path) -> None:
    async def begin() -> None:
        async with Home(home).store(create=True) as store:
            for name in ("abc", "abd"):
                await store.create(NewConversation(name, "demo", "2026-01-01T12:00:00.000Z"))

    asyncio.run(begin())
    ended = tell("show", "ab")
    assert ended.exit_code == 2
    assert ended.stderr == (
        "turnwire: several ids begin with ab: abd, abc. Type more characters.\n"
    )
    assert tell("show", "abc").exit_code == 0


# --- list, show, search -----------------------------------------------------------------------------


def test_the_list_shows_the_state_of_each_conversation(talked: str, tell: Tell) -> None:
    tell("run", "--agent", SCRIPTED, "questions")
    first, second = tell("list").stdout.splitlines()
    assert "waits for you  questions  " in first
    assert second.startswith(f"{talked}  failed")
    assert "think tool subagent plan" in second
    assert "2 turns" in second


def test_a_conversation_is_shown_as_it_was(talked: str, tell: Tell) -> None:
    shown = tell("show", talked[:6]).stdout
    assert shown.startswith("think tool subagent plan\n")
    assert "\n> think tool subagent plan\n" in shown
    assert "\n✓ Command  List the files" in shown
    assert "\n| There are 48 words in notes.txt.\n" in shown
    assert "\n> error\n" in shown
    assert "\n✗ The demo failed, as it was asked to.  (demo_error)\n" in shown
    assert shown.endswith(f"Go on: turnwire run --conversation {talked}\n")


def test_only_its_end_is_shown(talked: str, tell: Tell) -> None:
    shown = tell("show", talked, "--tail", "3").stdout
    assert "> error" in shown
    assert "think" not in shown.partition("earlier entries")[2]
    told = lines(tell("show", talked, "--json", "--tail", "1"))
    assert [line["kind"] for line in told].count("entry") == 1


def test_questions_and_decisions_are_shown_with_their_answers(tell: Tell, home: Path) -> None:
    with Terminal("run", "--agent", QUICK, "ask permission", home=home) as terminal:
        terminal.wait_for("A number, or your own words")
        terminal.type("blue\n")
        terminal.wait_for("y: allow")
        terminal.type("n\n")
        terminal.wait_for("Why?")
        terminal.type("not now\n")
        assert terminal.end() == 0
    (conversation,) = lines(tell("list", "--json"))
    shown = tell("show", conversation["conversation_id"]).stdout
    assert "? Which colour shall it be?" in shown
    assert "→ Blue" in shown
    assert "$ rm -r build" in shown
    assert "→ denied: not now" in shown


def test_a_search_finds_and_marks_words(talked: str, tell: Tell, home: Path) -> None:
    (hit,) = lines(tell("search", "helper", "counted", "--json"))
    assert hit["conversation_id"] == talked
    assert [hit["snippet"][start:end] for start, end in hit["found"]] == ["helper", "counted"]
    assert "My helper counted **48** words." in tell("search", "helper count").stdout
    with Terminal("search", "counted", home=home) as terminal:
        assert terminal.end() == 0
        assert "My helper counted **48** words." in terminal.screen.text


def test_a_search_without_hits_says_so(talked: str, tell: Tell) -> None:
    assert tell("search", "zebra").stdout == (
        "No message contains 'zebra'. Try fewer words, or the beginning of one.\n"
    )
    assert tell("search", "?!").exit_code == 2


def test_a_search_for_too_much_says_how_much_it_may_be(talked: str, tell: Tell) -> None:
    refused = tell("search", "w" * 1001)
    assert refused.exit_code == 2
    assert "it may have 1000. Search for a few words." in refused.stderr


def test_a_long_search_says_how_many_words_were_ignored(talked: str, tell: Tell) -> None:
    found = tell("search", *(f"w{number}" for number in range(60)))
    assert found.exit_code == 0
    assert "Searched for the first 50 words; 10 more were ignored." in found.stderr


# --- export, import, backup ---------------------------------------------------------------------------


def without_names(exported: str, name: str) -> list[Any]:
    return [json.loads(line) for line in exported.replace(name, "NAME").splitlines()]


def test_an_export_is_imported_unchanged(talked: str, tell: Tell, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    exported = tell("export", talked, "--to", "jsonl", "--out", file)
    assert exported.stdout == f"{file}\n"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["one.jsonl"]
    imported = tell("import", file, "--cwd", ".")
    copy = imported.stdout.split()[0]
    assert copy != talked
    again = tell("export", copy, "--to", "jsonl").stdout
    told, *rest = without_names(file.read_text(), talked)
    assert (told.pop("model"), told.pop("permission_mode")) == ("demo", "default")  # not kept
    assert without_names(again, copy) == [told, *rest]
    shown, other = (tell("show", name).stdout for name in (talked, copy))
    assert shown.replace(talked, copy) == other
    assert len(lines(tell("search", "helper counted", "--json"))) == 2
    assert tell("run", "--conversation", copy, "think").exit_code == 0


def test_a_turn_that_an_import_ends_leaves_the_conversation_in_its_place(
    talked: str, tell: Tell, tmp_path: Path
) -> None:
    head, first, *_ = tell("export", talked, "--to", "jsonl").stdout.splitlines()
    file = tmp_path / "cut.jsonl"
    end = json.dumps({"kind": "end", "entries": 1, "turns": 0})
    file.write_text(f"{head}\n{first}\n{end}\n")
    (imported,) = lines(tell("import", "--json", file))
    rows = {row["conversation_id"]: row for row in lines(tell("list", "--json"))}
    copy = rows[imported["conversation_id"]]
    assert copy["entries"] > 1, "the turn was ended"
    assert copy["updated_at"] == rows[talked]["updated_at"]


async def test_an_imported_copy_has_the_chosen_model_and_mode(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "turnwire.db")
    chosen = {"model": "opus", "permission_mode": "plan", "max_thinking_tokens": 0}
    state = Conversation("talk", **chosen, mcp_off=["files"])  # type: ignore[arg-type]
    await store.create(NewConversation("talk", "demo", "2026-01-01T00:00:00.000Z", state=state))
    row = await store.conversation("talk")
    assert row is not None
    first, *rest = [line async for line in lines_of(store, row)]
    assert isinstance(first, HeadLine)
    copy = await Restorer.begin(store, "copy", first, AgentCapabilities())
    for line in rest:
        await copy.take(line)
    there = await store.conversation("copy")
    assert there is not None
    # The importer chooses the permission mode and the model.
    kept = {**chosen, "model": None, "permission_mode": None}
    assert {name: getattr(there.state, name) for name in chosen} == kept
    assert there.state.mcp_off == ["files"]
    await store.close()


def test_a_late_answer_in_the_copy_is_refused_as_late(home: Path, tell: Tell) -> None:
    async def scene() -> None:
        async with engine_on(Home(home).database) as engine:
            talk = await talk_with(engine)
            asked = []
            async with Watcher(talk) as seen:
                for _ in range(2):
                    await talk.send("ask")
                    asked.append((await seen.until(AssistantRequestInput)).payload.question_id)
                    if len(asked) == 1:
                        await talk.answer(asked[0], "blue", user="ann")
                        await seen.until(AssistantComplete)
            row = await engine.store.conversation(talk.id)
            assert row is not None
            first, *rest = [line async for line in lines_of(engine.store, row)]
            assert isinstance(first, HeadLine)
            copy = await Restorer.begin(engine.store, "copy", first, AgentCapabilities())
            for line in rest:
                await copy.take(line)
            there = await engine.open("copy")
            for question, code in zip(
                asked, ("DUPLICATE_INPUT_RESPONSE", "CONVERSATION_INTERRUPTED"), strict=True
            ):
                with pytest.raises(Refused) as refused:
                    await there.answer(question, "red")
                assert refused.value.code == code
            ended = await engine.store.request("copy", asked[0])
            assert ended is not None
            assert (ended.outcome, ended.by) == ("answered", "ann")
            assert {each.conversation_id for each in await engine.store.inbox()} == {talk.id}

    home.mkdir()
    asyncio.run(scene())
    assert tell("fsck").exit_code == 0


def test_show_as_json_is_the_export_without_its_end(talked: str, tell: Tell) -> None:
    exported = tell("export", talked, "--to", "jsonl").stdout.splitlines()
    assert tell("show", talked, "--json").stdout.splitlines() == exported[:-1]


def with_line(number: int, *path: str, **changes: Any) -> Callable[[list[str]], list[str]]:
    """An export in which one line says something else."""

    def change(good: list[str]) -> list[str]:
        line = json.loads(good[number])
        place = line
        for name in path:
            place = place[name]
        place |= changes
        good[number] = json.dumps(line)
        return good

    return change


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda good: good[:-1], "the last line is missing: the file was cut off"),
        (lambda good: good[1:], "the first line is not the head of a conversation"),
        (lambda good: good[:3] + good[4:], "entry 3 is missing"),
        (lambda good: [*good[:2], "{", *good[2:]], "Input data was truncated"),
        (lambda good: [*good[:2], good[0], *good[2:]], "a line of this kind cannot be here"),
        (lambda good: [], "the first line is not the head of a conversation"),
        (
            lambda good: [good[0].replace('"version":1', '"version":2')],
            "a newer Turnwire wrote this",
        ),
        (lambda good: [good[0].replace("T", " ", 1), *good[1:]], "matching regex"),
        (
            lambda good: [good[0].replace('"rules":{', '"rules":{"max_queue":"x",')],
            "Expected `int`",
        ),
        (lambda good: [s.replace('"role":"user"', '"role":7') for s in good], "Expected `str`"),
        (lambda good: [s.replace("think tool", "\udcff") for s in good], "can't decode byte 0xff"),
        (lambda good: [s.replace('_tokens":', '_tokens":9' + "0" * 30) for s in good], "too big"),
        (with_line(0, "rules", max_queue=-1), ":1: Expected `int` >= 0 - at `$.max_queue`"),
        (with_line(0, "rules", interrupt_grace=-5), ":1: Expected `float` >= 0.0 - at `$.int"),
        (with_line(0, "rules", question_seconds=1e300), ":1: Expected `float` <= 1000000000.0"),
        (with_line(0, agent=""), ":1: Expected `str` of length >= 1 - at `$.agent`"),
        (with_line(1, turn_id=5), ":2: entry 1 names two turns: 5 and 1"),
        (with_line(1, "message", "meta", turnId=9), ":2: entry 1 names two turns: 1 and 9"),
        (with_line(-2, turn_id=7), "turn 7 is out of order: the newest is 2"),
        (with_line(-2, turn_id=0), "turn 0 is out of order: the newest is 2"),
        (
            with_line(-2, "end", after_sequence=99),
            "turn 2 ends after entry 99, but the last one is",
        ),
        (lambda good: [*good[:-1], good[-2], good[-1]], "turn 2 ends twice"),
        (with_line(-1, turns=3), "and 2, not "),
    ],
)
def test_an_incomplete_file_is_not_imported_in_part(
    cut: Any, said: str, talked: str, tell: Tell, tmp_path: Path
) -> None:
    good = tell("export", talked, "--to", "jsonl").stdout.splitlines()
    file = tmp_path / "broken.jsonl"
    file.write_bytes("\n".join(cut(good)).encode(errors="surrogateescape"))
    imported = tell("import", file)
    assert imported.exit_code == 2
    assert imported.stderr.count("\n") == 1
    assert said in imported.stderr
    assert "Nothing was imported." in imported.stderr
    assert len(lines(tell("list", "--json"))) == 1


def test_a_missing_file_is_an_error(tell: Tell) -> None:
    imported = tell("import", "nowhere.jsonl")
    assert imported.exit_code == 2
    assert imported.stderr.startswith("turnwire: cannot read nowhere.jsonl: ")


def check_copy(exported: list[Any], tell: Tell, folder: Path) -> None:
    """Checks that open items of an export are ended in the copy, and that the copy goes on."""
    file = folder / "open.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in exported))
    assert not [line for line in exported if line["kind"] == "turn"]
    there = ["--data-dir", folder / "other"]
    copy = tell("import", file, *there).stdout.split()[0]
    assert lines(tell("fsck", "--json", *there)) == []
    again = lines(tell("export", copy, "--to", "jsonl", *there))
    *_, turn, _ = again
    assert (turn["kind"], turn["turn_id"], turn["end"]["interrupted"]) == ("turn", 1, True)
    assert len([line for line in again if "interrupted: import" in json.dumps(line)]) == 1
    (told,) = lines(tell("list", "--json", *there))
    assert (told["state"], told["open_requests"]) == ("interrupted", [])
    assert tell("run", "--conversation", copy, "hello", *there).exit_code == 0
    assert lines(tell("fsck", "--json", *there)) == []


@pytest.mark.parametrize(("prompt", "asked"), [("ask me", "A number"), ("permission", "y: allow")])
def test_a_request_that_was_open_at_the_export_has_ended_in_the_copy(
    prompt: str, asked: str, tell: Tell, home: Path, tmp_path: Path
) -> None:
    with Terminal("run", "--agent", QUICK, prompt, home=home) as terminal:
        terminal.wait_for(asked)
        (talk,) = lines(tell("list", "--json"))
        exported = lines(tell("export", talk["conversation_id"], "--to", "jsonl"))
    check_copy(exported, tell, tmp_path)


def test_a_call_that_was_open_at_the_export_has_a_result_in_the_copy(
    talked: str, tell: Tell, tmp_path: Path
) -> None:
    exported = lines(tell("export", talked, "--to", "jsonl"))
    call = next(n for n, line in enumerate(exported) if '"tool_call"' in json.dumps(line))
    end = {"kind": "end", "entries": call, "turns": 0}
    check_copy([*exported[: call + 1], end], tell, tmp_path)


@pytest.mark.parametrize(
    ("place", "said"), [("no/file", "no is not a dir"), ("", "is a directory")]
)
def test_an_unwritable_place_is_an_error(
    place: str, said: str, talked: str, tell: Tell, tmp_path: Path
) -> None:
    told = tell("export", talked, "--to", "jsonl", "--out", tmp_path / place)
    assert told.exit_code == 2
    (line,) = told.stderr.splitlines()
    assert said in line


def test_a_markdown_export_has_all_content(talked: str, tell: Tell) -> None:
    page = tell("export", talked, "--to", "markdown").stdout
    assert page.startswith("# think tool subagent plan\n")
    assert "## You\n\nthink tool subagent plan\n" in page
    assert "**Bash**: List the files\n\n```sh\n" in page
    assert "> There are 48 words in notes.txt.\n" in page
    assert "- [x] See that it works\n" in page


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            {"type": "todo_list", "items": [{"content": "Look", "status": "completed"}]},
            ["**plan**", "- [x] Look"],
        ),
        ({"type": "web_search", "query": "soup  recipe"}, ["**web search**: soup recipe"]),
        (
            {"type": "command_execution", "command": "ls", "output": "a\n"},
            ["**command**", "```sh\nls\n```", "```\na\n```"],
        ),
        (
            {"type": "file_change", "changes": [{"path": "/a", "kind": "add", "diff": "+x\n"}]},
            ["**file change**", "`/a` (add)", "```diff\n+x\n```"],
        ),
        (
            {"type": "mcp_tool_call", "server": "colours", "tool_name": "pick", "arguments": {}},
            ["**colours: pick**", "```json\n{}\n```"],
        ),
        ({"type": "new"}, ['```json\n{\n  "type": "new"\n}\n```']),
    ],
)
def test_each_kind_of_block_looks_like_what_it_is_in_a_document(
    block: dict[str, Any], said: list[str]
) -> None:
    assert list(block_markdown(block)) == said


def test_the_options_of_a_question_keep_their_lines_in_the_document(tell: Tell) -> None:
    assert tell("run", "--agent", QUICK, "ask").exit_code == 3
    (talk,) = lines(tell("list", "--json"))
    page = tell("export", talk["conversation_id"], "--to", "markdown").stdout
    assert "Which colour shall it be? (Colour)\n\n1. Red: like a fire engine\n2. Green" in page
    assert "*waits for an answer*" in page


def test_a_result_is_trimmed_on_the_screen_and_whole_in_the_document(tell: Tell) -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    ran = tell("run", "--agent", SCRIPTED, f"result {text}")
    said = ran.stdout
    assert "  line 11\n  … 88 more lines\n" in said
    name = said.split()[-1]
    assert f"```\n{text}\n```" in tell("export", name, "--to", "markdown").stdout


def test_a_backup_is_a_directory_of_its_own(talked: str, tell: Tell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert tell("backup", other / "turnwire.db").exit_code == 0
    (conversation,) = lines(tell("list", "--json", "--data-dir", other))
    assert conversation["conversation_id"] == talked
    again = tell("backup", other / "turnwire.db")
    assert again.exit_code == 2
    assert "exists already. Name a new file." in again.stderr
    assert "is not a directory" in tell("backup", tmp_path / "no" / "where").stderr


def test_backup_and_import_describe_their_result_as_json(
    talked: str, tell: Tell, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    (backed_up,) = lines(tell("backup", "--json", copy))
    assert (backed_up["file"], backed_up["bytes"]) == (str(copy), copy.stat().st_size)
    assert backed_up["epoch"]
    file = tmp_path / "one.jsonl"
    tell("export", talked, "--to", "jsonl", "--out", file)
    (imported,) = lines(tell("import", "--json", file))
    rows = {row["conversation_id"]: row for row in lines(tell("list", "--json"))}
    assert imported["file"] == str(file)
    assert imported["entries"] == rows[talked]["entries"]
    assert imported["conversation_id"] in rows.keys() - {talked}


def test_a_large_import_and_a_large_backup_show_that_they_are_at_work(
    talked: str, tell: Tell, home: Path, tmp_path: Path
) -> None:
    head, first, *_ = tell("export", talked, "--to", "jsonl").stdout.splitlines()
    entry = json.loads(first)
    entry["message"]["parts"][0]["payload"]["text"] = "word " * 2000
    large = tmp_path / "large.jsonl"
    with large.open("w") as file:
        print(head, file=file)
        for number in range(1, 901):
            print(json.dumps({**entry, "sequence": number}), file=file)
        print(json.dumps({"kind": "end", "entries": 900, "turns": 0}), file=file)
    with Terminal("import", large, home=home) as terminal:
        assert terminal.end() == 0
        assert terminal.drew("large.jsonl ━")
    with Terminal("backup", tmp_path / "copy.db", home=home) as terminal:
        assert terminal.end() == 0
        assert terminal.drew("copying to copy.db")


# --- after a process was killed -----------------------------------------------------------------


def test_a_conversation_whose_process_was_killed_does_not_seem_to_work(
    tell: Tell, home: Path
) -> None:
    with Terminal("run", "--agent", SLOW, "permission", home=home) as terminal:
        terminal.wait_for("y: allow")
        (running,) = lines(tell("list", "--json"))
        assert running["state"] == "waiting_input"
        assert "waits for you" in tell("list").stdout
        assert len(lines(tell("inbox", "--json"))) == 1
        terminal.kill()
    (killed,) = lines(tell("list", "--json"))
    assert (killed["state"], killed["open_requests"]) == ("interrupted", [])
    assert "interrupted" in tell("list").stdout
    assert lines(tell("inbox", "--json")) == [], "the answer would reach no agent"
    name = killed["conversation_id"]
    for told in (tell("show", name, "--json"), tell("export", name, "--to", "jsonl")):
        assert lines(told)[0]["state"] == "interrupted"


def test_a_turn_that_failed_and_colours_of_a_tool_in_the_document(tell: Tell) -> None:
    assert tell("run", "--agent", QUICK, "error").exit_code == 1
    (talk,) = lines(tell("list", "--json"))
    assert "\n*failed: " in tell("export", talk["conversation_id"], "--to", "markdown").stdout
    ran = tell("run", "--agent", SCRIPTED, "result \x1b[31mred\x1b[0m")
    page = tell("export", ran.stdout.split()[-1], "--to", "markdown").stdout
    assert "```\nred\n```" in page
    assert "\x1b" not in page


# --- fork ---------------------------------------------------------------------------------------


def test_a_conversation_is_forked_and_both_go_on(tell: Tell) -> None:
    tell("run", "--agent", QUICK, "hello")
    (first,) = lines(tell("list", "--json"))
    name, end = first["conversation_id"], first["entries"]
    tell("run", "--conversation", name, "tool")
    forked = tell("fork", name, "--at", str(end), "--title", "Another way")
    assert (forked.exit_code, forked.stderr) == (0, "")
    fork = forked.stdout.split()[0]
    assert forked.stdout == (
        f"{fork} begins with the first {end} entries. Go on: turnwire run --conversation {fork}\n"
    )
    assert tell("run", "--conversation", fork, "think").exit_code == 0
    listed = {each["conversation_id"]: each for each in lines(tell("list", "--json"))}
    assert listed[fork]["forked_from"] == {"id": name, "at_sequence": end}
    assert (listed[fork]["title"], listed[fork]["turns"]) == ("Another way", 2)
    assert f"Another way (fork of {name})" in tell("list").stdout
    assert tell("fsck").exit_code == 0


def test_a_fork_in_the_middle_of_a_turn_is_refused_with_the_nearest_entry(
    talked: str, tell: Tell
) -> None:
    refused = tell("fork", talked, "--at", "2")
    assert refused.exit_code == 2
    assert (
        "cannot be forked at 2: a turn or a request is open there, or the log is shorter. Fork it at 0 or "
        in refused.stderr
    )


def test_an_import_refers_to_the_blobs_of_its_file_as_they_are(tell: Tell, home: Path) -> None:
    """The file's claims about blobs do not count; a missing blob is lost, even if the store has it."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(50)
    tell("run", "--agent", QUICK, "hello")
    (conversation,) = lines(tell("list", "--json"))
    name = conversation["conversation_id"]

    async def keep() -> None:
        store = await SqliteStore.open(home / "turnwire.db")
        await store.put_blob("others", b"secret", "text/plain", at="2999-01-01T00:00:00.000Z")
        await store.close()

    asyncio.run(keep())
    exported = tell("export", name, "--to", "jsonl").stdout.splitlines()
    head, entry, *rest = (json.loads(line) for line in exported)
    blob = {"kind": "blob", "blob_id": "b-1", "mime_type": "image/*"}
    blob["data"] = base64.b64encode(png).decode()
    lie = ImagePart(ImagePayload("image/*", None, None, BlobRef("b-1", "image/*", 0)))
    stolen = TextPart(TextPayload("the beginning", blob=BlobRef("others", "text/plain", 6)))
    entry["message"]["parts"] = to_json([lie, stolen])
    file = home.parent / "lying.jsonl"
    told = [head, blob, entry, *rest]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in told))
    (imported,) = lines(tell("import", "--json", str(file)))

    async def look() -> None:
        store = await SqliteStore.open(home / "turnwire.db")
        shown, words = (await store.entries(imported["conversation_id"]))[0].entry.parts
        true = BlobRef("b-1", "image/png", len(png))
        assert shown == ImagePart(ImagePayload("image/png", None, None, true))
        assert words == TextPart(TextPayload("the beginning\n[The rest of this was lost.]"))
        await store.close()

    asyncio.run(look())
    assert tell("fsck").exit_code == 0
