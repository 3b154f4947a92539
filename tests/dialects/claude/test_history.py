"""The history files of Claude Code: lines, branches, sub-agents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from turnwire.core.content import ImageContent, OtherContent, TextContent
from turnwire.dialects.claude.branches import Voice, branch, end_of_turn, story, title_of, voices_in
from turnwire.dialects.claude.history import Record, Title, as_said, read_record
from turnwire.dialects.claude.messages import AssistantMessage, UserMessage
from turnwire.errors import BadLine

TIME = "2026-01-02T03:04:05.{:03}Z"


def line(uuid: str, parent: str | None = None, number: int = 1, **more: Any) -> Record:
    """A record as it is read."""
    own = {"uuid": uuid, "parentUuid": parent, "timestamp": TIME.format(number), **more}
    record = read_record(json.dumps(own).encode(), number)
    assert isinstance(record, Record)
    return record


def user(
    uuid: str, content: Any, parent: str | None = None, number: int = 1, **more: Any
) -> Record:
    message = {"role": "user", "content": content}
    return line(uuid, parent, number, type="user", message=message, **more)


def model(uuid: str, parent: str | None, number: int, *calls: str, **more: Any) -> Record:
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in calls]
    message = {"id": f"msg_{uuid[0]}", "content": content or [{"type": "text", "text": uuid}]}
    return line(uuid, parent, number, type="assistant", message=message, **more)


def result(uuid: str, parent: str, number: int, call: str, **more: Any) -> Record:
    return user(
        uuid, [{"type": "tool_result", "tool_use_id": call, "content": "x"}], parent, number, **more
    )


# --- lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "more", "kind"),
    [
        ("hi", {}, "said"),
        ("hi", {"origin": {"kind": "human"}}, "said"),
        ("hi", {"isMeta": True}, "news"),
        ("The session so far", {"isCompactSummary": True}, "news"),
        ("It is back.", {"origin": {"kind": "task-notification"}}, "begun"),
        ("Go on.", {"promptSource": "system"}, "begun"),
        ("[Request interrupted by user for tool use]", {}, "stopped"),
        ("<local-command-stdout>done</local-command-stdout>", {}, "news"),
        (" \n", {}, "aside"),
        ([], {}, "aside"),
        ([{"type": "tool_result", "tool_use_id": "c1"}], {}, "result"),
    ],
)
def test_user_lines_that_no_person_wrote_are_recognized(
    content: Any, more: dict[str, Any], kind: str
) -> None:
    assert user("u1", content, **more).kind == kind


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("<command-name>/review</command-name>\n<command-args>all of it</command-args>", None),
        ("<command-message>x</command-message><command-name>/clear</command-name>", "/clear"),
        ("<bash-input> ls -l</bash-input>", "!ls -l"),
        ("<command-nothing>", "<command-nothing>"),
    ],
)
def test_a_command_is_shown_as_the_person_typed_it(written: str, typed: str | None) -> None:
    record = user("u1", written)
    assert record.kind == "said"
    assert record.content == [TextContent(typed or "/review all of it")]


def test_pictures_and_unknown_content_are_kept_as_well() -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    by_file = {"type": "file", "file_id": "f1"}
    record = user(
        "u1",
        [
            {"type": "image", "source": picture},
            {"type": "image", "source": by_file},
            {"type": "text", "text": "look"},
            {"type": "new", "x": 1},
        ],
    )
    assert record.content[0] == ImageContent("image/png", "AAAA", None)
    assert isinstance(record.content[1], OtherContent)
    assert record.content[2] == TextContent("look")
    assert isinstance(record.content[3], OtherContent)
    assert record.content[3].original_type == "new"


def test_a_message_during_a_turn_is_not_lost() -> None:
    def attached(attachment: Any) -> Record:
        return line("a1", type="attachment", attachment=attachment)

    said = attached({"type": "queued_command", "prompt": "and this", "commandMode": "prompt"})
    assert (said.kind, said.content) == ("said", [TextContent("and this")])
    assert attached({"type": "queued_command", "prompt": " "}).kind == "aside"
    note = {"type": "queued_command", "prompt": "x", "commandMode": "task-notification"}
    assert attached(note).kind == "aside"
    assert attached({"type": "date"}).kind == "aside"


def test_notices_are_kept_and_bookkeeping_is_not() -> None:
    assert line("s1", type="system", subtype="compact_boundary").kind == "news"
    assert line("s1", type="system", subtype="turn_duration").kind == "aside"
    assert line("p1", type="progress").kind == "aside"
    assert line("x1", type="something_new").kind == "news"
    assert read_record(b'{"type":"queue-operation","operation":"enqueue"}', 1) is None
    assert read_record(b'{"type":"summary","summary":""}', 1) is None


def test_times_that_cannot_be_read_are_left_open() -> None:
    assert line("u1", type="system", timestamp="yesterday").at is None
    assert line("u1", type="system", timestamp=5).at is None
    assert line("u1", type="system", timestamp="1970-01-01T00:00:01.000Z").at == 1000


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"type":"user","uuid":"u1","x":1e999}'])
def test_a_line_that_cannot_be_read_says_where_it_is(raw: bytes) -> None:
    with pytest.raises(BadLine) as bad:
        read_record(raw, 7)
    assert bad.value.line == 7


def test_a_record_is_said_as_the_program_says_it_aloud() -> None:
    told = result("r1", "a1", 2, "c1", toolUseResult={"stdout": "x"}, sessionId="s1")
    said = as_said(told, None)
    assert isinstance(said.message, UserMessage)
    assert (said.message.session_id, said.message.isSynthetic) == ("s1", None)
    assert isinstance(said.message.tool_use_result, Raw)
    assert bytes(said.message.tool_use_result) == b'{"stdout":"x"}'
    own = as_said(user("u1", "x", isMeta=True), None).message
    assert isinstance(own, UserMessage)
    assert own.isSynthetic is True
    stopped = as_said(user("u1", "[Request interrupted by user]"), None).message
    assert isinstance(stopped, UserMessage)
    assert stopped.isSynthetic is False
    below = as_said(model("a1", None, 1, agentId="x"), "c1").message
    assert isinstance(below, AssistantMessage)
    assert (below.parent_tool_use_id, below.agent_id) == ("c1", "x")


def test_a_message_without_a_message_is_still_a_record() -> None:
    assert line("a1", type="assistant").message_id is None
    assert line("a1", type="user").kind == "aside"


# --- the tree -----------------------------------------------------------------------------------


def names(records: list[Record]) -> str:
    return " ".join(record.uuid for record in records)


def test_tools_that_were_called_together_answer_side_by_side() -> None:
    records = [
        user("u1", "run", None, 1),
        model("a1", "u1", 2, "c1"),
        model("a2", "a1", 3, "c2"),
        result("r1", "a1", 4, "c1"),
        result("r2", "a2", 5, "c2"),
        model("b1", "r1", 6),
    ]
    assert names(branch(records)) == "u1 a1 a2 r1 r2 b1"


def test_the_newest_branch_is_taken_or_the_named_one() -> None:
    records = [
        user("u1", "hi", None, 1),
        model("a1", "u1", 2),
        user("u2", "left", "a1", 3),
        model("b1", "u2", 4, "c1"),
        result("r1", "b1", 5, "c1"),
        user("u3", "right", "a1", 6),
        model("c1", "u3", 7),
    ]
    assert names(branch(records)) == "u1 a1 u3 c1"
    assert names(branch(records, "r1")) == "u1 a1 u2 b1 r1"
    assert names(branch(records, "b1")) == "u1 a1 u2 b1"
    with pytest.raises(KeyError):
        branch(records, "x")
    assert branch([]) == []


def test_a_summary_and_a_line_that_is_missing_break_no_branch() -> None:
    records = [
        user("u1", "hi", None, 1),
        model("a1", "u1", 2),
        line("s1", None, 3, type="system", subtype="compact_boundary", logicalParentUuid="a1"),
        user("u2", "go on", "missing", 5),
        model("b1", "u2", 6),
    ]
    assert names(branch(records)) == "u1 a1 s1 u2 b1"
    assert names(branch([user("u1", "hi", "missing", 1)])) == "u1"
    circle = [user("u1", "hi", "u2", 1), user("u2", "hi", "u1", 2)]
    assert names(branch(circle)) == "u1 u2"


def test_a_turn_ends_with_its_last_line() -> None:
    snapshot = line("s", "m", 4, type="attachment", attachment={"type": "snapshot"})
    stop = {"content": "[Request interrupted by user]"}
    records = [
        user("p", "hello"),
        model("m", "p", 2, "t"),
        model("side", "m", 3, isSidechain=True),
        snapshot,
        result("r", "s", 5, "t"),
        line("x", "r", 6, type="user", message={"role": "user", **stop}),
        user("q", "what else", "x", 7),
        model("n", "q", 8),
        user("other", "another branch", "m", 9),
    ]
    assert [end_of_turn(records, uuid) for uuid in ("p", "m", "r", "x")] == ["x"] * 4
    assert end_of_turn(records, "q") == "n"
    assert end_of_turn(records, "other") == "other"


def agent_call(uuid: str, parent: str, number: int, call: str, prompt: str) -> Record:
    block = {"type": "tool_use", "id": call, "name": "Agent", "input": {"prompt": prompt}}
    other = {"type": "text", "text": "Go."}
    message = {"id": f"msg_{uuid}", "content": [other, block]}
    return line(uuid, parent, number, type="assistant", message=message)


def test_sub_agents_are_found_by_their_file_their_result_or_their_prompt() -> None:
    records = [
        user("u1", "go", None, 1),
        agent_call("a1", "u1", 2, "c1", "one"),
        agent_call("b1", "a1", 3, "c2", "two"),
        agent_call("d1", "b1", 4, "c3", "three"),
        user("x1", "three", None, 5, isSidechain=True),
        model("y1", "x1", 6, isSidechain=True),
        result("r1", "b1", 7, "c2", toolUseResult={"agentId": "second"}),
        user("z1", [{"type": "image", "source": {}}], None, 8, isSidechain=True),
    ]
    others = {
        "first": [user("f1", "?", None, 3, agentId="first")],
        "second": [user("g1", "?", None, 4), agent_call("h1", "g1", 5, "c4", "four")],
        "fourth": [user("k1", [{"type": "text", "text": "four"}], None, 6)],
        "silent": [],
    }
    voices = voices_in(records, others, {"first": "c1"})
    assert {voice.call: names(voice.records) for voice in voices} == {
        "c1": "f1",
        "c2": "g1 h1",
        "c3": "x1 y1",
        "c4": "k1",
        "z1": "z1",  # its call is unknown
    }


def test_events_are_in_the_order_of_their_times() -> None:
    records = [
        user("u1", "go", None, 1),
        model("a1", "u1", 2, "c1"),
        result("r1", "a1", 9, "c1"),
        user("u2", "back", "u1", 10),
        model("b1", "u2", 11, "c2"),
        user("u3", "on", "r1", 20),
    ]
    early = user("x1", "?", None, 1)  # its clock is wrong: it was called later
    deep = Voice([user("d1", "?", None, 4)], "c3")
    voices = [
        deep,
        Voice([early, model("y1", "x1", 3, "c3"), model("y2", "y1", 30)], "c1"),
        Voice([user("z1", "?", None, 12), model("z2", "z1", 13, "c4")], "c2"),
        Voice([user("z3", "?", None, 14)], "c4"),
        Voice([user("n1", "?", None, 5)], "unknown"),
    ]
    told = story(records, branch(records), voices)
    assert names([record for record, _ in told]) == "u1 a1 x1 y1 d1 n1 r1 u3 y2"
    assert [call for _, call in told][2:5] == ["c1", "c1", "c3"]


def test_a_session_has_the_name_that_a_person_gave_it() -> None:
    records = [user("u1", "hi")]
    other = read_record(b'{"type":"summary","summary":"Of another","leafUuid":"x"}', 1)
    own = read_record(b'{"type":"summary","summary":"A hello","leafUuid":"u1"}', 2)
    made = read_record(b'{"type":"ai-title","aiTitle":"Greetings","sessionId":"s1"}', 3)
    given = read_record(b'{"type":"custom-title","customTitle":"Mine"}', 4)
    titles = [title for title in (own, other, made, given) if isinstance(title, Title)]
    assert title_of(titles, records) == "Mine"
    assert title_of(titles[:3], records) == "Greetings"
    assert title_of(titles[:2], records) == "A hello"
    assert title_of([], records) is None


def test_a_sub_agent_that_precedes_its_caller_is_read_once() -> None:
    def voice(number: int, call: str, *calls: str) -> Voice:
        return Voice([Record(number, f"u{number}", None, "told", None, {}, calls=calls)], call)

    voices = [voice(1, "c1"), voice(2, "c2", "c1"), voice(3, "c3")]
    assert [call for _, call in story([], [], voices)] == ["c1", "c2", "c3"]
