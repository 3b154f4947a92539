"""Files of a message reach the agent: with their bytes, or as a copy in its working directory."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.content import Blob, Content, FileContent, LoadedFile, TextContent
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine.actor.files import with_files
from turnwire.ports import AgentCapabilities

PDF = b"%PDF-1.7 hello"
READS = AgentCapabilities(files=["application/pdf"], reads_files=True)
AT = "2026-01-01T12:00:00.000Z"


async def fetch(blob_id: str) -> tuple[bytes, str] | None:
    return None if blob_id == "gone" else (PDF, "application/pdf")


def report(
    path: str = "report.pdf", kind: str = "application/pdf", *, blob: str = "b-1", size: int = 14
) -> FileContent:
    return FileContent(path, kind, size, Blob(blob, kind, size))


def names_in(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


def bytes_of(file: Content) -> bytes:
    assert isinstance(file, FileContent)
    return Path(file.path).read_bytes()


async def copy_of(path: str, cwd: Path) -> Path:
    """Returns where a file that is not taken in the prompt is put."""
    [found] = await with_files([report(path, "application/zip")], fetch, READS, str(cwd))
    assert isinstance(found, FileContent)
    return Path(found.path)


async def test_a_file_of_a_type_that_the_agent_takes_gets_its_bytes(tmp_path: Path) -> None:
    content: list[Content] = [TextContent("Read this."), report()]
    text, file = await with_files(content, fetch, READS, str(tmp_path))
    assert text == TextContent("Read this.")
    data = b64encode(PDF).decode()
    assert file == LoadedFile("report.pdf", "application/pdf", 14, report().blob, data)
    assert names_in(tmp_path) == []


async def test_any_other_file_is_copied_below_the_working_directory_once(tmp_path: Path) -> None:
    copy = await copy_of("box.zip", tmp_path)
    assert copy == tmp_path / ".turnwire" / "files" / "b-1" / "box.zip"
    assert copy.read_bytes() == PDF
    assert (tmp_path / ".turnwire" / ".gitignore").read_text() == "*\n"
    copy.write_bytes(b"changed by the agent")
    assert await copy_of("box.zip", tmp_path) == copy
    assert copy.read_bytes() == b"changed by the agent", "a repeated prompt keeps its work"
    assert [each.name for each in copy.parent.iterdir()] == ["box.zip"]


async def test_a_file_that_is_too_large_for_a_prompt_is_copied(tmp_path: Path) -> None:
    [found] = await with_files([report(size=50_000_000)], fetch, READS, str(tmp_path))
    assert not isinstance(found, LoadedFile)
    assert bytes_of(found) == PDF


async def test_a_file_stays_a_name_if_it_is_deleted_or_cannot_be_used(tmp_path: Path) -> None:
    names: list[Content] = [report(blob="gone"), FileContent("notes.txt")]
    assert await with_files(names, fetch, READS, str(tmp_path)) == names
    zipped: list[Content] = [report("box.zip", "application/zip")]
    assert await with_files(zipped, fetch, AgentCapabilities(), str(tmp_path)) == zipped
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\docs\\a b.txt", "a b.txt"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("a\nb.txt", "a_b.txt"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
        ("é" * 200, "é" * 59),
    ],
)
async def test_the_name_of_a_copy_is_safe(tmp_path: Path, path: str, name: str) -> None:
    copy = await copy_of(path, tmp_path)
    assert copy.parent == tmp_path / ".turnwire" / "files" / "b-1"
    assert copy.name == name


@pytest.mark.parametrize("link", [".turnwire", ".turnwire/files", ".turnwire/.gitignore"])
async def test_no_copy_is_written_through_a_link(tmp_path: Path, link: str) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / link).parent.mkdir(parents=True)
    outside.mkdir()
    (work / link).symlink_to(outside / "new" if link.endswith(".gitignore") else outside)
    with pytest.raises(Refused, match=r"cannot be put into the working directory"):
        await copy_of("box.zip", work)
    assert not names_in(outside)


async def test_a_turn_whose_file_cannot_be_copied_fails_and_says_why(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    agent = ScriptedAgent()
    agent.capabilities = AgentCapabilities(reads_files=True)
    async with engine_on(tmp_path / "db", agent=agent) as engine:
        await engine.store.put_blob("b-1", PDF, "application/pdf", at=AT)
        talk = await engine.create("demo", cwd=str(work))
        async with Watcher(talk) as seen:
            (work / ".turnwire").touch()
            await talk.send([report()])
            end = (await seen.until(f.AssistantComplete)).payload
            assert end.error is not None
            assert "'report.pdf' cannot be put into the working directory" in end.error.message
            (work / ".turnwire").unlink()
            await talk.send([report()])
            session = await agent.opened()
            [[said]] = session.contents
            assert said == report(str(work / ".turnwire" / "files" / "b-1" / "report.pdf"))
            session.begins()
            session.ends()
            await seen.until(f.AssistantComplete, lambda each: each.turn_id == 2)
