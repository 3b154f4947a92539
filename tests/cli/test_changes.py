"""The commands that change a whole conversation: rename, archive, delete; and open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.conftest import Start, Tell, lines
from tests.cli.helpers.agents import QUICK, SCRIPTED, SLOW
from tests.cli.helpers.terminal import Terminal
from tests.server.helpers.servers import process


@pytest.fixture
def talked(tell: Tell) -> str:
    """A conversation with one turn."""
    assert tell("run", "--agent", QUICK, "hello").exit_code == 0
    return str(the_only(tell)["conversation_id"])


def the_only(tell: Tell, *options: str) -> Any:
    """Returns the only conversation of a list."""
    (conversation,) = lines(tell("list", "--json", *options))
    return conversation


# --- without a server ---------------------------------------------------------------------------


def test_a_title_is_changed(talked: str, tell: Tell) -> None:
    changed = tell("rename", talked[:4], " The soup ")
    assert changed.stdout == f"{talked} is now called: The soup\n"
    assert the_only(tell)["title"] == "The soup"
    empty = tell("rename", talked, " ")
    assert (empty.exit_code, empty.stderr) == (2, "turnwire: `title` has 1 to 500 characters.\n")


def test_an_archived_conversation_comes_back(talked: str, tell: Tell) -> None:
    said = tell("archive", talked[:4])
    back = f"turnwire archive --undo {talked}"
    assert said.stdout == f"{talked} is in the archive. Take it out: {back}\n"
    assert lines(tell("list", "--json")) == []
    assert the_only(tell, "--archived")["conversation_id"] == talked
    assert tell("archive", talked).exit_code == 0, "once more is harmless"
    assert tell("archive", "--undo", talked).stdout == f"{talked} is out of the archive.\n"
    assert the_only(tell)["conversation_id"] == talked
    assert tell("list", "--archived").stdout == "No conversation is archived.\n"
    trail = tell("audit").stdout
    assert trail.count("archived") == 1
    assert trail.count("reopened") == 1


def test_a_delete_needs_a_word(talked: str, tell: Tell, home: Path) -> None:
    unsure = tell("delete", talked)
    assert unsure.exit_code == 2
    assert "Confirm it with --yes." in unsure.stderr
    with Terminal("delete", talked, home=home) as terminal:
        terminal.wait_for(f"Delete {talked} (hello) for good? [y/N]")
        terminal.type("n\r")
        assert terminal.end() == 1
    assert the_only(tell)["conversation_id"] == talked
    assert tell("delete", "-y", talked[:4]).stdout == f"Deleted {talked} (hello).\n"
    assert lines(tell("list", "--json")) == []
    assert "there is no conversation" in tell("delete", "-y", talked).stderr


def test_a_conversation_of_an_agent_that_is_gone_can_be_archived_and_deleted(tell: Tell) -> None:
    tell("run", "--agent", SCRIPTED, "say hello")
    name = str(the_only(tell)["conversation_id"])
    refused = tell("rename", name, "Old")
    assert refused.exit_code == 2
    assert "Say where it is: TURNWIRE_AGENT=module:attribute." in refused.stderr
    assert tell("rename", name, "Old", TURNWIRE_AGENT=SCRIPTED).exit_code == 0
    assert tell("archive", name).exit_code == 0
    assert tell("delete", "-y", name).exit_code == 0


def test_a_conversation_that_another_process_runs_is_left_alone(tell: Tell, home: Path) -> None:
    with Terminal("run", "--agent", SLOW, "everything", home=home) as terminal:
        terminal.wait_for("Working")
        name = str(the_only(tell)["conversation_id"])
        for command in (["rename", name, "x"], ["archive", name], ["delete", "-y", name]):
            refused = tell(*command)
            assert refused.exit_code == 2
            assert "owns this conversation" in refused.stderr
        terminal.kill()


# --- with a server ------------------------------------------------------------------------------


def test_a_server_that_runs_makes_the_changes(talked: str, tell: Tell, home: Path) -> None:
    with process(home) as server:
        for where in ([], ["--server", server.url]):
            assert tell("rename", *where, talked[:4], "The soup").exit_code == 0
            assert the_only(tell)["title"] == "The soup"
            assert tell("archive", *where, talked[:4]).exit_code == 0
            assert the_only(tell, "--archived")["conversation_id"] == talked
            assert tell("archive", "--undo", *where, talked[:4]).exit_code == 0
        page = tell("open", "--print", talked[:4])
        assert page.stdout == f"{server.url}/c/{talked}\n"
        assert tell("open", "--print").stdout.startswith(f"{server.url}/enter?link=")
        there = tell("open", "--print", "--server", server.url)
        assert there.stdout == f"{server.url}/\n", "a token for a server is not put into a link"
        assert tell("delete", "-y", talked[:4]).stdout == f"Deleted {talked} (The soup).\n"
        assert lines(tell("list", "--json")) == []


def test_a_link_is_made_listed_and_ended(talked: str, tell: Tell, home: Path) -> None:
    stopped = tell("share", talked)
    assert stopped.exit_code == 2
    assert "no server runs on" in stopped.stderr
    assert tell("share", "--list", talked).stdout == "There are no links to this conversation.\n"
    with process(home) as server:
        for where in ([], ["--server", server.url]):
            made = tell("share", *where, "--days", "2", talked[:4])
            address, _, secret = made.stdout.strip().partition("#")
            assert address == f"{server.url}/shared"
            headers = {"Authorization": f"Bearer {secret}"}
            read = httpx.get(f"{server.url}/api/shared", headers=headers, trust_env=False)
            assert read.json()["title"] == "hello"
            [listed] = lines(tell("share", *where, "--list", "--json", talked[:4]))
            assert "link" not in listed
            shown = tell("share", *where, "--list", talked).stdout
            assert shown.startswith(f"{listed['share_id']}  up to entry {listed['through']}, until")
            assert "share link" in tell("token", "list").stdout
            ended = tell("share", *where, "--end", listed["share_id"], talked)
            assert ended.stdout == f"Ended {listed['share_id']}.\n"
            again = tell("share", *where, "--end", listed["share_id"], talked)
            assert "It may have ended already." in again.output
            read = httpx.get(f"{server.url}/api/shared", headers=headers, trust_env=False)
            assert read.status_code == 401
        tell("share", talked)
        tell("share", talked)
    first, second = lines(tell("share", "--list", "--json", talked))
    assert tell("share", "--end", first["share_id"], talked).exit_code == 0, "without a server"
    unknown = tell("share", "--end", "nonsense", talked)
    assert unknown.exit_code != 0
    assert "no valid link 'nonsense'" in unknown.output
    assert [second] == lines(tell("share", "--list", "--json", talked))
    tell("delete", "-y", talked)
    kept = lines(tell("token", "list", "--json"))
    assert all(each.get("revoked_at") for each in kept if each["kind"] == "share")


def test_contradicting_options_of_a_link_are_refused(talked: str, tell: Tell) -> None:
    for given in (["--list", "--days", "3"], ["--list", "--end", "x"], ["--json"], ["--days", "0"]):
        assert tell("share", *given, talked).exit_code == 2


def test_the_page_is_opened_in_the_browser(
    talked: str, home: Path, start: Start, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o700)
    env = {"TURNWIRE_DATA_DIR": str(home), "BROWSER": str(browser)}
    with process(home) as server:
        ran = start("open", talked, env=env)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
        assert opened.read_text() == f"{server.url}/c/{talked}\n"
    gone = start("open", env=env)
    assert gone.returncode == 2
    assert b"no server runs on" in gone.stderr
