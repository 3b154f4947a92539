"""An agent's command cannot reach the server's data, memory or environment. All processes are real."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.helpers.isolation_probe import (
    SECRET,
    UNPRIVILEGED,
    WAYS,
    isolation,
    place,
    said_by,
    stranger,
)
from tests.agents.helpers.processes import SECONDS, wait_until_gone
from turnwire.agents.child import ChildAgent
from turnwire.agents.claude.process.private_file import private_file
from turnwire.agents.isolation import choose, find_user
from turnwire.agents.process import GuardedProcess
from turnwire.errors import TurnwireError
from turnwire.ports import AgentGone, Isolation, SessionStart

ways = pytest.mark.parametrize("by", WAYS)


@ways
async def test_a_command_cannot_reach_the_data_directory(by: str) -> None:
    with place() as there:
        way = isolation(by, there.data)
        if way is not None:
            script = f"exec 2>&1\n{there.attempts}\necho fine > made; cat made"
            said = await said_by(["sh", "-c", script], there.work, way)
            assert SECRET not in said
            assert said.endswith("fine\n"), "where it works, it can work"
            assert there.is_untouched()


async def test_without_isolation_the_same_command_reads_everything() -> None:
    with place() as there:
        said = await said_by(["sh", "-c", there.attempts], there.work, None)
        assert SECRET in said
        assert not there.is_untouched()


@ways
async def test_a_command_cannot_look_into_processes_outside(by: str) -> None:
    with place() as there, stranger() as pid:
        look = f"tr '\\0' '\\n' < /proc/{pid}/environ; cat /proc/{pid}/root{there.data}/owner-token"
        open_to_all = await said_by(["sh", "-c", look], there.work, None)
        assert open_to_all.count(SECRET) == 2
        way = isolation(by, there.data)
        if way is not None:
            closed = await said_by(["sh", "-c", f"exec 2>&1; {look}; echo seen"], there.work, way)
            assert SECRET not in closed
            assert closed.endswith("seen\n")


async def test_the_cover_of_the_data_directory_cannot_be_removed() -> None:
    with place() as there:
        way = isolation("namespaces", there.data)
        if way is not None:
            (there.top / "mount").mkdir()
            uncover = f"""
umount {there.data}; cat {there.data}/*
mount --bind {there.top} {there.top}/mount; cat {there.top}/mount/data/*
mount -o remount,rw {there.data}; nsenter -t $PPID -m cat {there.data}/owner-token"""
            inner = uncover.replace("'", "'\\''")
            script = (
                f"exec 2>&1\n{uncover}\nunshare -Urm sh -c '{inner}'; unshare -Um sh -c '{inner}'"
            )
            said = await said_by(["sh", "-c", f"{script}; echo tried"], there.work, way)
            assert SECRET not in said
            assert said.endswith("tried\n")


@ways
async def test_no_parent_directory_of_the_data_can_be_moved(by: str) -> None:
    """Or the next agent would find it where nothing covers it."""
    with place() as there:
        share = there.top / "share"
        data = share / "turnwire"
        data.mkdir(parents=True)
        data.chmod(0o700)
        (data / "owner-token").write_text(SECRET)
        way = isolation(by, data)
        if way is None:
            return
        moved = f"exec 2>&1; mv {share} {there.top}/moved && mkdir -p {data}; echo tried"
        assert (await said_by(["sh", "-c", moved], there.work, way)).endswith("tried\n")
        read = f"cat {there.top}/*/turnwire/owner-token ../*/turnwire/owner-token; echo tried"
        said = await said_by(["sh", "-c", f"exec 2>&1; {read}"], there.work, way)
        assert SECRET not in said
        assert said.endswith("tried\n")
        assert (data / "owner-token").read_text() == SECRET


@ways
@pytest.mark.parametrize("ending", ["asked", "guard killed"])
async def test_the_guard_ends_everything_that_is_isolated(by: str, ending: str) -> None:
    family = """
trap '' HUP
sleep 1001 & setsid sleep 1002 & (setsid sh -c 'trap "" TERM; sleep 1003; sleep 1004' &)
echo started; wait"""
    with place() as there:
        way = isolation(by, there.data)
        if way is None:
            return
        process = await GuardedProcess.start(
            ["sh", "-c", family], cwd=str(there.work), isolation=way, grace=0.2
        )
        assert await process.read() == b"started\n"
        async with asyncio.timeout(SECONDS):
            while [each.name for each in process.below()].count("sleep") < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        pids = [each.pid for each in process.below()]
        assert len(pids) >= 5
        if ending == "asked":
            ended = await process.end()
            assert {each.pid for each in ended} >= set(pids)
            assert not any(each.left for each in ended)
        else:
            os.kill(process.guard_pid, signal.SIGKILL)
            async with asyncio.timeout(SECONDS):
                await process.wait()
            await process.end()
        assert wait_until_gone(pids) == []


@pytest.mark.parametrize("by", ["namespaces", "landlock"])
async def test_the_paths_that_an_agent_needs_in_the_data_directory_stay_visible(by: str) -> None:
    with place() as there:
        way = isolation(by, there.data)
        if way is None:
            return
        own, file = there.data / "agent" / "config", there.data / "agent.json"
        own.mkdir(parents=True)
        file.write_text("{}")
        script = f"echo made > {own}/made; echo 1 > {file}; exec 2>&1; {there.attempts}"
        said = await said_by(
            ["sh", "-c", script], there.work, way, keep=[own, file, there.data / "missing"]
        )
        assert SECRET not in said
        assert (own / "made").read_text() == "made\n"
        assert file.read_text() == "1\n"
        assert there.is_untouched()
        with pytest.raises(AgentGone, match="keeps files of its own in"):
            await said_by(["true"], there.work, way, keep=[there.data])


@ways
async def test_a_file_without_a_name_can_still_be_handed_over(by: str) -> None:
    """So Claude gets the secrets of MCP servers."""
    with place() as there, private_file(b"for the agent") as fd:
        way = isolation(by, there.data)
        if way is not None:
            said = await said_by(["cat", f"/dev/fd/{fd}"], there.work, way, files=[fd])
            assert said == "for the agent"


@pytest.mark.parametrize("where", ["data", "data/backups"])
async def test_no_agent_works_in_the_data_directory(where: str) -> None:
    with place() as there:
        way = Isolation("namespaces", [str(there.data)])
        with pytest.raises(AgentGone, match="the server keeps its own data there"):
            await said_by(["true"], there.top / where, way)


async def test_an_agent_in_its_own_process_is_isolated_as_well() -> None:
    with place() as there:
        way = isolation("namespaces", there.data)
        agent = ChildAgent("demo")
        assert not agent.runs_commands
        agent.isolate(way)
        session = await agent.open(SessionStart("talk", cwd=str(there.work)))
        mounts = Path("/proc/self/ns/mnt")
        [child] = [each for each in _below(session) if each != os.getpid()]
        is_apart = os.readlink(mounts) != os.readlink(f"/proc/{child}/ns/mnt")  # noqa: PTH115
        assert is_apart == (way is not None)
        await session.close()
        refused = Isolation("namespaces", [str(there.work)])
        agent.isolate(refused)
        with pytest.raises(AgentGone, match="may not work in"):
            await agent.open(SessionStart("talk", cwd=str(there.work)))


def _below(session: object) -> list[int]:
    process: GuardedProcess = session._process  # type: ignore[attr-defined]
    return [each.pid for each in process.below()]


# --- choosing -------------------------------------------------------------------------------------

# Landlock forbids mounts, and at most 16 layers of it can be put on one another.
_WITHOUT = """
import sys
from pathlib import Path
from turnwire.agents import confine
from turnwire.agents.isolation import choose
from turnwire.errors import TurnwireError
layers, mode, data = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
for _ in range(layers):
    confine.apply({"by": "landlock", "hide": [str(data)]}, lambda: None)
try:
    isolation, why = choose(mode, data)
    print(isolation and isolation.by, why)
except TurnwireError as refused:
    print("refused:", refused.message)
"""


@pytest.mark.parametrize(
    ("layers", "mode", "expected"),
    [
        (1, "auto", "landlock \n"),
        (1, "require", "landlock \n"),
        (
            1,
            "namespaces",
            "refused: agent_isolation is 'namespaces', but agents cannot be isolated",
        ),
        (16, "auto", "none this machine offers no way (namespaces: "),
        (16, "require", "refused: agent_isolation is 'require', but agents cannot be isolated"),
        (16, "off", "None agent_isolation is off\n"),
    ],
)
def test_the_best_working_isolation_is_chosen(layers: int, mode: str, expected: str) -> None:
    with place() as there:
        has_landlock = isolation("landlock", there.data) is not None
        command = [sys.executable, "-c", _WITHOUT, str(layers), mode, str(there.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if has_landlock:
            assert done.stdout.startswith(expected), done.stderr
        else:
            assert "Landlock" in done.stderr, "there it cannot be taken away either"


def test_namespaces_are_chosen_if_both_methods_work() -> None:
    with place() as there:
        chosen = choose("auto", there.data)
        both = {by for by in WAYS[:2] if isolation(by, there.data) is not None}
        expected = next((by for by in WAYS[:2] if by in both), "none")
        assert chosen.isolation is not None
        assert chosen.isolation.by == expected


def test_the_user_of_agents_has_to_be_one_without_rights_to_the_data() -> None:
    with place() as there:
        with pytest.raises(TurnwireError, match="this machine has no such user"):
            choose("auto", there.data, "no-such-user")
        with pytest.raises(TurnwireError, match="who may read everything"):
            choose("auto", there.data, "0")
        user = find_user(UNPRIVILEGED)
        assert find_user(str(user.uid)) == user
        there.data.chmod(0o755)
        with pytest.raises(TurnwireError, match="is open to other users"):
            choose("auto", there.data, UNPRIVILEGED)
        there.data.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(there.data, user.uid, -1)
            with pytest.raises(TurnwireError, match="who owns"):
                choose("auto", there.data, UNPRIVILEGED)


async def test_a_directory_that_the_agents_user_may_not_enter_is_an_error() -> None:
    with place() as there:
        way = isolation("user", there.data)
        if way is not None:
            there.work.chmod(0o700)
            with pytest.raises(
                AgentGone, match=f"the user {UNPRIVILEGED} may not read {there.work}"
            ):
                await said_by(["true"], there.work, way)
