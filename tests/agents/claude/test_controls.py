"""What people ask of the real Claude Code beside the talk, and what comes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.stage import programs, stage
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, ToolUse


def write(name: str, content: str) -> Say:
    return Say([ToolUse("Write", {"file_path": name, "content": content}, cuts=None)])


def edit(name: str, old: str, new: str) -> Say:
    changed = {"replace_all": False, "file_path": name, "old_string": old, "new_string": new}
    return Say([ToolUse("Edit", changed, cuts=None)])


def files(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in place.iterdir()}


def rewinds(frames: list[Any]) -> list[Any]:
    return [frame.payload for frame in frames if frame.payload.subtype == "rewind"]


async def test_files_are_put_back_as_they_were_before_a_message_also_by_another_process(
    tmp_path: Path,
) -> None:
    async with stage(
        tmp_path,
        *(write("a.txt", "one"), "Done."),
        *(edit("a.txt", "one", "two"), write("b.txt", "new"), "Done."),
        "Still here.",
        conversation={"permission_mode": "acceptEdits"},
    ) as it:
        await it.says("write a")
        await it.says("change it, and write b")
        first, second = [frame.payload.message_sequence for frame in it.seen.of(f.UserMessage)]
        a, b = str(it.work / "a.txt"), str(it.work / "b.txt")

        would = await it.talk.rewind_files(second, dry_run=True)
        assert would.ack.files == [a, b]
        assert files(it.work) == {"a.txt": "two", "b.txt": "new"}, "it was only asked"
        assert not rewinds(it.seen.of(f.SessionSystemEvent))

        done = await it.talk.rewind_files(second, user="ann", client_message_id="r-1")
        assert done.ack.files == [a, b]
        assert files(it.work) == {"a.txt": "one"}
        again = await it.talk.rewind_files(second, user="ann", client_message_id="r-1")
        assert (again.ack, again.duplicate) == (done.ack, True)
        [told] = rewinds(it.seen.of(f.SessionSystemEvent))
        assert told.data == {"message_sequence": second, "files": [a, b], "by": "ann"}
        assert told.message_sequence == (await it.talk.status()).last_turn.after_sequence + 1  # type: ignore[union-attr]

        with pytest.raises(Refused, match="no message of a person's"):
            await it.talk.rewind_files(first + 1)
        await it.says("go on")
        await it.stop()
        assert not programs()

        await it.start_again()
        assert (await it.talk.rewind_files(first)).ack.files == [a]
        assert files(it.work) == {}, "the file was not there before the first message"
        audit = await it.store.audit(conversation_id="talk")
        by = [(row.action, row.by) for row in audit if row.action == "rewind"]
        assert by == [("rewind", None), ("rewind", "ann"), ("rewind", None)]
