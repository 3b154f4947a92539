"""Files that the host reads and writes for an ACP agent: regular files below the roots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turnwire.agents.acp import files as module
from turnwire.agents.acp.files import Denied, Files
from turnwire.dialects.acp.messages import ReadParams, WriteParams


async def test_a_pipe_is_neither_read_nor_written_and_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    files, path = Files([tmp_path]), str(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is no file"):
        await files.read(ReadParams(path))
    with pytest.raises(OSError, match="No such device"):
        await files.write(WriteParams(path, "x"))
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(OSError, match="pipe is no file"):
            await files.write(WriteParams(path, "x"))
    finally:
        os.close(reader)


async def test_a_file_is_read_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 8)
    (tmp_path / "a").write_bytes(b"12345678")
    (tmp_path / "b").write_bytes(b"123456789")
    files = Files([tmp_path])
    assert await files.read(ReadParams(str(tmp_path / "a"))) == "12345678"
    with pytest.raises(OSError, match="9 bytes, and 8 are the most"):
        await files.read(ReadParams(str(tmp_path / "b")))


async def test_a_folder_that_becomes_a_link_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    (root / "in").mkdir(parents=True)
    out.mkdir()
    (out / "a").write_text("secret")
    files, path = Files([root]), root / "in" / "a"

    def swapped(_: str) -> Path:
        """The check of the path, after which the folder is replaced."""
        if not (root / "in").is_symlink():
            (root / "in").rmdir()
            (root / "in").symlink_to(out)
        return path

    monkeypatch.setattr(files, "allowed", swapped)
    with pytest.raises(OSError, match="in"):
        await files.read(ReadParams(str(path)))
    with pytest.raises(OSError, match="in"):
        await files.write(WriteParams(str(path), "x"))
    assert (out / "a").read_text() == "secret"


async def test_a_file_is_changed_in_place_and_a_new_one_gets_its_folders(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("a long text")
    script.chmod(0o755)
    files = Files([tmp_path])
    await files.write(WriteParams(str(script), "short"))
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("short", 0o755)
    await files.write(WriteParams(str(tmp_path / "a" / "b" / "c"), "new"))
    assert (tmp_path / "a" / "b" / "c").read_text() == "new"


async def test_a_missing_file_is_named_as_the_agent_named_it(tmp_path: Path) -> None:
    files, path = Files([tmp_path]), str(tmp_path / "none")
    with pytest.raises(FileNotFoundError) as missing:
        await files.read(ReadParams(path))
    assert missing.value.filename == path
    with pytest.raises(Denied, match="is a directory"):
        await files.read(ReadParams(str(tmp_path)))
