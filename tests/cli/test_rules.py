"""`turnwire rules`: the remembered permissions, and taking them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tell, lines
from tests.cli.helpers.agents import QUICK
from tests.cli.helpers.terminal import Terminal
from tests.server.helpers.servers import process


@pytest.fixture
def allowed(tell: Tell, home: Path) -> str:
    """A conversation in which a permission was answered with "always"."""
    with Terminal("run", "--agent", QUICK, "permission", home=home) as terminal:
        terminal.wait_for("a: always")
        terminal.type("a\n")
        assert terminal.end() == 0
    (conversation,) = lines(tell("list", "--json"))
    return str(conversation["conversation_id"])


def the_rule(tell: Tell, *words: str) -> Any:
    """Returns the only rule of a list."""
    (rule,) = lines(tell("rules", "--json", *words))
    return rule


def test_without_any_rule_the_list_says_so(tell: Tell) -> None:
    assert tell("rules").stdout == "No permission is remembered.\n"
    assert tell("rules", "--json").stdout == ""


def test_a_rule_is_listed_with_the_command_that_takes_it_back(allowed: str, tell: Tell) -> None:
    rule = the_rule(tell)
    assert rule == the_rule(tell, allowed[:4])
    assert (rule["conversation_id"], rule["agent"], rule["kept_by"]) == (
        allowed,
        "demo",
        "turnwire",
    )
    shown = tell("rules").stdout
    assert "Bash(rm -r build) in this conversation\n" in shown
    command = f"turnwire rules {allowed} --take-back {rule['rule_id']}"
    assert f"Take it back: {command}\n" in shown
    unknown = tell("rules", allowed, "--take-back", "r0")
    assert unknown.exit_code == 2
    assert "the conversation has no rule 'r0'" in unknown.stderr
    alone = tell("rules", "--take-back", "r0")
    assert alone.exit_code == 2
    assert "Name the conversation of the rule" in alone.stderr
    done = tell("rules", allowed[:4], "--take-back", rule["rule_id"])
    assert (
        done.stdout
        == f"{allowed}: the rule {rule['rule_id']} is taken back. The agent asks again.\n"
    )
    assert tell("rules").stdout == "No permission is remembered.\n"
    assert "rule_taken_back" in tell("audit").stdout


def test_a_server_lists_rules_and_takes_them_back(allowed: str, tell: Tell, home: Path) -> None:
    with process(home) as server:
        there = ("--server", server.url)
        rule = the_rule(tell, *there)
        assert rule == the_rule(tell, *there, allowed) == the_rule(tell)
        assert tell("rules", allowed, *there, "--take-back", rule["rule_id"]).exit_code == 0
        assert tell("rules").stdout == "No permission is remembered.\n"
