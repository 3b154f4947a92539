"""Calls and blocks of several agents on the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from turnwire.cli.live.ask import Decision, ask_permission, read_decision
from turnwire.cli.live.blocks import block_lines
from turnwire.cli.live.cards import Call, Voice, head_of, input_of
from turnwire.core.status import OpenRequest


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"type": "todo_list", "items": []}, []),
        ({"type": "web_search", "query": "soup", "status": "completed"}, ["✓ Web search  soup"]),
        (
            {"type": "command_execution", "command": "ls", "status": "failed"},
            ["✗ Command  $ ls"],
        ),
        (
            {"type": "mcp_tool_call", "server": "colours", "tool_name": "pick"},
            ["✓ colours: pick"],
        ),
        (
            {"type": "file_change", "changes": [{"path": "/a", "diff": "+x"}]},
            ["✓ Change  /a"],
        ),
        ({"type": "error", "message": "No."}, ["No."]),
        ({"type": "file_ref", "path": "/a.png"}, ["✓ file  /a.png"]),
        ({"type": "new"}, ["[new]"]),
        (None, ["[a block without text]"]),
    ],
)
def test_each_kind_of_block_looks_like_what_it_is(block: Any, said: list[str]) -> None:
    assert [line.plain.rstrip() for line in block_lines(block)] == said


def test_changed_files_are_drawn_as_a_diff() -> None:
    changes = [{"path": "/a", "kind": "update", "diff": "@@ -1 +1 @@\n-x\n+y\n"}]
    call = Call("c", "file_change", Voice(), {"changes": changes})
    assert head_of(call).plain == "● Change"
    lines = input_of(call)
    assert [line.plain for line in lines] == ["update /a", "  @@ -1 +1 @@", "  -x", "  +y"]
    assert "green" in str(lines[-1].spans)


class Person:
    """Types prepared lines, and keeps what is shown."""

    is_guest = False

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.hints: list[str] = []

    def tell(self, lines: Any) -> None:
        pass

    note = tell

    def forget_keys(self) -> None:
        pass

    async def read_line(self, hint: str, text: str = "") -> str | None:
        self.hints.append(hint)
        return self.lines.pop(0) if self.lines else None


async def test_a_choice_that_the_agent_cannot_take_is_not_offered() -> None:
    request = OpenRequest("p", "permission", "t", "command_execution", {"command": "ls"})
    plain = OpenRequest(
        "p", "permission", "t", "command_execution", {"command": "ls"}, decision_only=True
    )
    person = Person("n", "It is late.")
    assert await ask_permission(person, request) == Decision("deny", "It is late.")
    assert person.hints[0].endswith("e: edit")
    person = Person("e", "n")
    assert await ask_permission(person, plain) == Decision("deny")
    assert person.hints == ["y: allow  n: deny"] * 2


async def test_an_agent_that_takes_one_rule_is_given_the_one_that_the_person_chooses() -> None:
    rules = [
        {"rules": [{"toolName": "command_execution", "ruleContent": what}], "destination": where}
        for what, where in (("git push", "session"), ("git *", "userSettings"))
    ]
    request = OpenRequest(
        "p", "permission", "t", "command_execution", {}, suggestions=rules, decision_only=True
    )
    person = Person("a3", "a2")
    assert await ask_permission(person, request) == Decision("allow", remember=rules[1:])
    assert person.hints[0] == (
        "y: allow  n: deny  a: always (command_execution(git push) in this conversation)  "
        "a2: always (command_execution(git *) in all conversations on this machine)"
    )
    for words in ("a", "always", "a1", "a 1"):
        assert read_decision(request, words) == Decision("allow", remember=rules[:1])
    together = structs.replace(request, decision_only=False)
    assert read_decision(together, "A") == Decision("allow", remember=rules)
    assert read_decision(together, "a2") is None
