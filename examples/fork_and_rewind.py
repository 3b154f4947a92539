"""Restores a file to its content before a message, then continues in two conversations.

    python examples/fork_and_rewind.py             # with a key, or logged in to Claude Code
    python examples/fork_and_rewind.py --offline   # with a scripted model: no key, no network

Claude writes a file and changes it. You rewind: the file has its content from before the second
message again, and the log still has all entries. Then you fork the conversation after the first
answer, send a different message in the fork, and continue in both.

The exit code is 0 only if the file was restored, the log says so, the fork starts with the same
entries under the same numbers, and each conversation has its own history. Any other outcome ends
with a line that explains it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import aclosing, nullcontext
from pathlib import Path

from turnwire import ClaudeAgent, Engine, SqliteStore, Talk
from turnwire import frames as f
from turnwire.core.message import TextPart
from turnwire.testing.model_api import ModelApi, Request, Say, ToolUse, claude_environment

SPRING = "Write a file poem.txt with exactly one line: It is spring."
AUTUMN = "Change that line to: It is autumn."
WINTER = "Write another file, other.txt, with exactly one line: It is winter."
WHAT = "In one sentence: which seasons have we spoken of so far? Do not look at any file."


# --- the steps ----------------------------------------------------------------------------------


async def say(talk: Talk, text: str, patience: float) -> int:
    """Sends a message and prints the answer. Returns the head of the log after it."""
    print(f"You: {text}")
    start = (await talk.send(text)).ack.turn_id
    try:
        async with asyncio.timeout(patience), aclosing(talk.follow(tail=0)) as frames:
            async for frame in frames:
                match frame:
                    case f.AssistantChunk(payload=said) if not said.partial:
                        print(f"  Claude: {said.text}")
                    case f.AssistantToolCall(payload=call) if not call.partial:
                        print(f"  Claude uses {call.tool_name}.")
                    case f.AssistantComplete(payload=end) if frame.turn_id == start:
                        if end.error is not None:
                            raise SystemExit(f"The turn failed: {end.error.message}")
                        return end.after_sequence
    except TimeoutError:
        raise SystemExit(f"No answer in {patience:g} seconds.") from None
    raise SystemExit("The conversation has ended.")


async def words(engine: Engine, talk: Talk) -> str:
    """Returns the text of all messages of a conversation."""
    entries = await engine.store.entries(talk.id)
    parts = [part for stored in entries for part in stored.entry.parts]
    return "\n".join(part.payload.text for part in parts if isinstance(part, TextPart))


async def numbered(engine: Engine, talk: Talk) -> list[tuple[int, str, object]]:
    """Returns the log of a conversation."""
    entries = await engine.store.entries(talk.id)
    return [(each.sequence, each.entry.role, each.entry.parts) for each in entries]


async def play(engine: Engine, work: Path, patience: float) -> tuple[Talk, Talk]:
    """Plays all steps; returns both conversations."""
    poem = work / "poem.txt"
    talk = await engine.create("claude", cwd=str(work), permission_mode="acceptEdits")
    first = await say(talk, SPRING, patience)
    before = _content(poem)
    await say(talk, AUTUMN, patience)
    changed = _content(poem)
    if changed == before:
        raise SystemExit("Claude did not change the file.")

    answer = await talk.rewind_files(first + 1, user="you")
    print(f"You restored: {', '.join(answer.ack.files or [])}")
    print(f"  {poem.name} was {changed!r}, and is {_content(poem)!r} again.")
    if _content(poem) != before:
        raise SystemExit("The file was not restored.")
    *_, told = await engine.store.entries(talk.id)
    if told.entry.meta.get("messageType") != "rewind":
        raise SystemExit("The log does not say that the file was restored.")
    print(f"  Entry {told.sequence} of the log says so; the entries before it are unchanged.")

    fork = await talk.fork(first, user="you")
    print(f"You fork the conversation after entry {first}, and continue in both.")
    if await numbered(engine, fork) != (await numbered(engine, talk))[:first]:
        raise SystemExit("The fork does not start with the same entries.")
    await say(fork, WINTER, patience)
    await say(fork, WHAT, patience)
    await say(talk, WHAT, patience)
    here, there = await words(engine, talk), await words(engine, fork)
    if WINTER in here or AUTUMN in there or SPRING not in there:
        raise SystemExit("Each conversation should have its own log.")
    return talk, fork


def _content(file: Path) -> str:
    if not file.exists():
        raise SystemExit(f"{file.name} does not exist.")
    return file.read_text().strip()


# --- with and without a key ---------------------------------------------------------------------


def model(request: Request) -> Say | str:
    """The script of the model. It knows only its input."""
    told, done = heard(request), request.tool_results
    if told[-1] == WHAT:
        seasons = [word for word in ("spring", "autumn", "winter") if f"It is {word}." in str(told)]
        return f"Of {' and '.join(seasons)}."
    if told[-1] == AUTUMN and "autumn" not in done:
        change = {"file_path": "poem.txt", "old_string": "spring", "new_string": "autumn"}
        return Say([ToolUse("Edit", {**change, "replace_all": False}, id="autumn")])
    if told[-1] == WINTER and "winter" not in done:
        text = {"file_path": "other.txt", "content": "It is winter.\n"}
        return Say([ToolUse("Write", text, id="winter")])
    if told[-1] == SPRING and "spring" not in done:
        text = {"file_path": "poem.txt", "content": "It is spring.\n"}
        return Say([ToolUse("Write", text, id="spring")])
    return "It is done."


def heard(request: Request) -> list[str]:
    """Returns the messages of people in a request to the model."""
    contents = [message["content"] for message in request.messages if message["role"] == "user"]
    blocks = [b for each in contents for b in ([{"text": each}] if isinstance(each, str) else each)]
    texts = [str(block.get("text", "")).strip() for block in blocks]
    return [text for text in texts if text in (SPRING, AUTUMN, WINTER, WHAT)]


def check(requests: list[Request]) -> None:
    """Checks in the log of the model that each conversation had its own history."""
    asked = [heard(request) for request in requests if heard(request)[-1:] == [WHAT]]
    for told in asked:
        print(f"The model got: {' / '.join(told)}")
    if asked != [[SPRING, WINTER, WHAT], [SPRING, AUTUMN, WHAT]]:
        raise SystemExit("The model did not get the history of each conversation.")


async def main(*, offline: bool, patience: float) -> None:
    """Plays all steps, and checks the result."""
    missing = None if offline else ClaudeAgent().unavailable()
    if missing is not None:
        raise SystemExit(f"{missing}\nOr run it without a key: {sys.argv[0]} --offline")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "work").mkdir()
        async with ModelApi(*[model] * 20) if offline else nullcontext() as api:
            env = claude_environment(api.url, place / "home") if api else {}
            store = await SqliteStore.open(place / "talk.db")
            async with Engine(store, {"claude": ClaudeAgent(env=env)}) as engine:
                await play(engine, place / "work", patience)
            await store.close()
            if api is not None:
                check(api.requests)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--offline", action="store_true", help="use a scripted model instead of Claude's"
    )
    parser.add_argument(
        "--patience", type=float, default=180.0, help="maximum seconds of each step"
    )
    given = parser.parse_args()
    asyncio.run(main(offline=given.offline, patience=given.patience))
