"""`turnwire new`: the files of a small project, made in an empty directory, run and talked to."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import TURNWIRE, Run
from tests.server.helpers.servers import ROOT, free_port


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_in(folder: Path) -> list[str]:
    """Returns the names of the files in a directory."""
    return sorted(path.name for path in folder.iterdir())


def turnwire(
    *args: str, folder: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs a command in a directory, without that directory on Python's path, as a script does."""
    python, *rest = TURNWIRE
    return subprocess.run(
        [python, "-P", *rest, *args],
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_new_agent_runs_is_talked_to_and_answers_in_another_process(
    folder: Path, run: Run
) -> None:
    made = run("new", "agent", "bookkeeper")
    assert (made.exit_code, made.stderr) == (0, "")
    assert "export TURNWIRE_AGENT=bookkeeper:bookkeeper" in made.stdout
    assert 'turnwire run "One soup, please"' in made.stdout
    project = folder / "bookkeeper"
    assert names_in(project) == ["README.md", "bookkeeper.py", "check.py"]
    agent = "bookkeeper:bookkeeper"
    asked = turnwire(
        *("run", "--agent", agent, "--data-dir", "data", "One soup, please"), folder=project
    )
    assert (asked.returncode, asked.stderr) == (3, b"")
    assert b"There is enough soup for today." in asked.stdout
    # The command that it prints is complete: the next process knows where the agent is.
    (told,) = re.findall(r"Answer it: (.+)$", asked.stdout.decode(), re.MULTILINE)
    variable, program, *words = shlex.split(told)
    assert (variable, program) == (f"TURNWIRE_AGENT={agent}", "turnwire")
    # So is the one of the inbox, which does not know the module: the shell may know it.
    listed = ("inbox", "--data-dir", "data")
    shown = turnwire(*listed, folder=project, env={"TURNWIRE_AGENT": agent}).stdout.decode()
    assert f"Answer it: turnwire {shlex.join(words)} 1" in shown
    shown = turnwire(*listed, folder=project).stdout.decode()
    assert f"Answer it: TURNWIRE_AGENT=module:attribute turnwire {shlex.join(words)} 1" in shown
    answered = turnwire(*words, "large", folder=project, env={"TURNWIRE_AGENT": agent})
    assert (answered.returncode, answered.stderr) == (0, b"")
    assert b"A large one it is." in answered.stdout


def test_a_new_app_serves_its_page_and_its_agent(folder: Path, run: Run) -> None:
    assert run("new", "app", "bookkeeper", "--dir", "deep/shop").exit_code == 0
    project = folder / "deep" / "shop"
    files = ["README.md", "app.py", "bookkeeper.py", "check.py", "page.html"]
    assert names_in(project) == files
    with served(project) as url, browsing(url) as browser:
        assert "<form" in browser.get("/").text  # which sets the cookie that is the login
        made = browser.post("/chat/api/conversations", json={}).json()
        assert made["agent"] == "bookkeeper"
        turn = browser.post(
            f"/chat/api/conversations/{made['id']}/turns",
            json={"content": "Good evening"},
            headers={"Prefer": "wait=30"},
        )
        assert "We have soup, salad, pasta." in turn.text


def browsing(url: str) -> httpx.Client:
    """A browser: it keeps cookies, and says which page a request is from."""
    return httpx.Client(base_url=url, headers={"Origin": url}, trust_env=False, timeout=60)


@contextmanager
def served(project: Path) -> Iterator[str]:
    """The application, under the uvicorn that its README names."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port)],
        cwd=project,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            assert any("Uvicorn running" in line for line in server.stderr), "it has started"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGINT)


def test_the_command_that_installs_works_from_a_clone(folder: Path, run: Run) -> None:
    command = "pip install '/path/to/clone[server]' fastapi"
    shown = run("new", "app", "shop").stdout
    assert f"# Not published yet: in a virtual environment of your own,\n  {command}\n" in shown
    assert command in (folder / "shop" / "README.md").read_text()
    assert "`.venv` of `make run` has no pip" in " ".join((ROOT / "README.md").read_text().split())


def test_a_check_that_fails_prints_what_failed_and_no_traceback(folder: Path, run: Run) -> None:
    run("new", "agent", "shop")
    (folder / "shop" / "shop.py").write_text(
        "from turnwire import agent\n\n@agent('shop')\nasync def shop(turn):\n    pass\n"
    )
    (folder / "shop" / "check.py").write_text(
        re.sub(r"Prompts\(.*\)", "Prompts()", (folder / "shop" / "check.py").read_text())
    )
    checked = subprocess.run(
        [sys.executable, "check.py"],
        cwd=folder / "shop",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (1, "")
    assert checked.stderr.splitlines()[0].endswith("checks failed:")
    assert "a prompt gets a turn: the turn has no content" in checked.stderr
    assert "Traceback" not in checked.stderr


def test_no_file_is_overwritten_and_no_other_is_written_then(folder: Path, run: Run) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "check.py").write_text("mine")
    made = run("new", "app", "shop")
    assert made.exit_code == 2
    assert "shop has check.py already, and no file is overwritten." in made.stderr
    assert names_in(folder / "shop") == ["check.py"]
    (folder / "file").touch()
    assert "is a file. Name another directory" in run("new", "app", "file").stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("my-agent", "Try my_agent."),
        ("class", "Python reserves this word. Try class_agent."),
        ("1", "Use letters, digits and underscores."),
        ("json", "is the name of another module. Try json_agent."),
        ("turnwire", "is the name of another module. Try turnwire_agent."),
    ],
)
def test_a_name_that_cannot_be_imported_is_refused(
    folder: Path, run: Run, name: str, hint: str
) -> None:
    made = run("new", "agent", name)
    assert made.exit_code == 2
    assert hint in made.stderr
    assert not names_in(folder)


def test_an_agent_that_only_a_settings_file_names_is_not_imported_from_its_directory(
    folder: Path,
) -> None:
    (folder / "turnwire.toml").write_text('agents = ["evil:agent"]')
    (folder / "evil.py").write_text("open('done', 'w')")
    ran = turnwire("agents", folder=folder)
    assert b"cannot be imported: No module named 'evil'" in ran.stderr
    assert not (folder / "done").exists()
