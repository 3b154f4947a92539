"""A deferred question is found again and gets its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.claude.helpers.fake_programs import player
from tests.agents.claude.helpers.real_claude import ask, bash, deliveries, kill_claude, stage
from tests.agents.claude.helpers.recorded_lines import INIT, PROMPT, Line, asked_of_it, heard
from tests.agents.helpers.session_driver import talking
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.questions.deferred_note import Deferred, renew_note
from turnwire.core import events as ev
from turnwire.core.conversation.state import Reply
from turnwire.testing.model_api import Say, ToolUse
from turnwire.testing.model_api.server import Answer


def request_input(call: str) -> ToolUse:
    return ToolUse("mcp__turnwire__request_input", {"question": "Which colour?"}, id=call)


async def test_an_answer_is_the_result_of_its_call_also_among_other_calls(
    tmp_path: Path,
) -> None:
    """A later turn of a process: in the first one Claude Code appends a line of its own."""
    messages = {
        "ask_1": [ask("ask_1"), bash("echo after", "bash_1")],
        "ask_2": [bash("echo before", "bash_2"), ask("ask_2")],
        "ask_3": [request_input("ask_3"), ask("ask_4")],
    }
    script: list[Answer] = []
    for calls in messages.values():
        script += ["Hm.", Say([*calls]), "Good."]
    async with stage(tmp_path, *script) as it:
        for call, calls in messages.items():
            await it.says("think")  # now the process has finished a turn
            await it.talk.send("ask me")
            assert (await it.asked()).question_id == call
            await it.sleeps()
            answer = await it.talk.answer(call, f"teal for {call}")
            assert answer.ack.delivered_as == "tool_result"
            assert not (await it.ends()).is_error
            assert f"teal for {call}" in it.told[call]
            assert {each.id for each in calls} <= it.told.keys()
            assert "No response requested" not in str(it.api.requests[-1].messages)
        assert not it.news("answer_delivered"), "as it was said"


async def test_an_answer_is_delivered_although_claude_first_repeats_lost_work(
    tmp_path: Path,
) -> None:
    away = Say([bash("sh -c 'sleep 600'", "bash_1", run_in_background=True)])
    async with stage(tmp_path, away, "Begun.", Say([request_input("ask_1")]), "Teal.") as it:
        await it.talk.send("begin")
        await it.talk.decide((await it.wants()).request_id, "allow")
        await it.ends()
        await it.talk.send("ask me")
        await it.asked()
        await it.held("ask_1")
        kill_claude()
        await it.sleeps()
        answer = await it.talk.answer("ask_1", "teal")
        end = await it.ends()
        assert not end.is_error
        assert [answer.ack.delivered_as, *deliveries(it, 1)] == ["prompt"]
        assert "My answer: teal" in str(it.api.requests[-1].messages[-1])
        assert it.text == ["Begun.", "Teal."]


# --- where Claude Code does not ask again --------------------------------------------------------

IDLE = {"type": "system", "subtype": "session_state_changed", "state": "idle", "session_id": "s"}
WORDS = "You had asked me something before you were interrupted. My answer: "


def result(**more: Any) -> Line:
    figures = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "is_error": False}
    return heard({"type": "result", "subtype": "success", "session_id": "s", **figures, **more})


HELLO = asked_of_it("initialize", {"session_state": "running"})
CHOSEN = asked_of_it("set_permission_mode", {})
LOST = [heard(INIT), result(origin={"kind": "task-notification"}), heard(IDLE)]


def lifecycle(state: str) -> Line:
    about = {"command_uuid": "the-prompt", "state": state, "session_id": "s"}
    return heard({"type": "command_lifecycle", **about})


def says(text: str) -> list[Line]:
    content = [{"type": "text", "text": text}]
    message = {"id": "m", "role": "assistant", "model": "x", "content": content}
    said = heard({"type": "assistant", "session_id": "s", "message": message})
    return [lifecycle("started"), heard(INIT), said, result(), lifecycle("completed"), heard(IDLE)]


@pytest.mark.parametrize("before", [False, True], ids=["after_the_answer", "before_the_answer"])
async def test_an_answer_whose_question_does_not_come_back_is_sent_as_text(
    tmp_path: Path, before: bool
) -> None:
    """Played from a script: no known Claude Code has the question and ends the turn."""
    path = tmp_path / "tape.jsonl"
    tape = [*HELLO, *([] if before else CHOSEN), *LOST, PROMPT, *says("Teal.")]
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in tape))
    env = {"CLAUDE_TAPE": str(path), "ANTHROPIC_API_KEY": "sk-tape", "HOME": str(tmp_path)}
    agent = ClaudeAgent({}, titles=False, env=env, cli_path=player(tmp_path), record=tmp_path / "r")
    async with talking(agent, "s", cwd=str(tmp_path)) as ear:
        if before:
            await ear.turn_ends()
        await ear.session.deliver([Reply("ask_1", "question", "teal")], resumed=True)
        if not before:
            await ear.session.choose(model=None, permission_mode="plan")  # it waits for that
        end = await ear.turn_ends(2)
        assert isinstance(end, ev.TurnCompleted)
        assert ear.text == "Teal."
        [told] = [e for e in ear.all(ev.SystemEvent) if e.subtype == "answer_delivered"]
        assert '"prompt"' in str(msgspec.json.encode(told.data))
    [record] = (tmp_path / "r").iterdir()
    assert f"{WORDS}teal" in record.read_text()


# --- the note of a deferred question -------------------------------------------------------------


def note(call: str = "ask_1", uuid: str = "n") -> Line:
    about = {"type": "hook_deferred_tool", "toolUseID": call}
    return {"type": "attachment", "uuid": uuid, "parentUuid": "c", "attachment": about}


def result_of(call: str, uuid: str = "t") -> Line:
    content = [{"type": "tool_result", "tool_use_id": call, "content": "done"}]
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}}


SAID = {"type": "user", "uuid": "p", "message": {"role": "user", "content": "ask me"}}
CALLS = {"type": "assistant", "uuid": "c", "message": {"role": "assistant", "content": []}}
COST = {"type": "cost-state"}
NEWS = {"type": "system", "uuid": "y"}


def written(place: Path, *lines: Line, end: bytes = b"") -> Path:
    path = place / "projects" / "-work" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines) + end)
    return path


@pytest.mark.parametrize(
    ("lines", "deferred"),
    [
        ([SAID, CALLS, note(), COST], Deferred("ask_1")),
        ([SAID, CALLS], None),
        ([SAID, CALLS, note(), result_of("ask_1")], None),
        ([CALLS, note(), SAID, CALLS], None),
        ([COST], None),
        ([], Deferred()),
    ],
    ids=["waits", "held", "answered", "of_a_turn_before", "nothing_said", "nothing_written"],
)
def test_the_note_says_whether_a_question_waits(
    tmp_path: Path, lines: list[Line], deferred: Deferred | None
) -> None:
    path = written(tmp_path, *lines)
    before = path.read_bytes()
    assert renew_note(tmp_path, "s") == deferred
    assert path.read_bytes() == before, "what is in order stays as it is"
    assert renew_note(tmp_path, "another") == Deferred(), "without a record there may be a question"


@pytest.mark.parametrize("behind", [[], [NEWS]], ids=["a_result", "news"])
def test_the_note_of_a_question_is_written_again_after_the_result_of_another_call(
    tmp_path: Path, behind: list[Line]
) -> None:
    path = written(tmp_path, SAID, CALLS, note(), result_of("bash_1"), *behind, COST, end=b'{"ha')
    before = path.read_bytes()
    assert renew_note(tmp_path, "s") == Deferred("ask_1")
    after = path.read_bytes()
    assert after.startswith(before), "what Claude Code has written stays"
    last = msgspec.json.decode(after.splitlines()[-1])
    assert last["attachment"] == note()["attachment"]
    assert last["parentUuid"] == ("y" if behind else "t")
    assert last["uuid"] != "n"
    assert renew_note(tmp_path, "s") == Deferred("ask_1")
    assert path.read_bytes() == after, "once is enough"
