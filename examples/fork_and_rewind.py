"""Put a file back as it was before a message. Then go on from there in two conversations.

    python examples/fork_and_rewind.py             # with a key, or logged in to Claude Code
    python examples/fork_and_rewind.py --offline   # with a scripted model: no key, no network

Claude writes a file and changes it. You rewind: the file is as it was before the second message, and
the log still tells all of it. Then you fork the conversation behind the first answer, say something
else there, and go on in both. The exit code is 0 only if the file came back and the log says so, the
fork begins with the same entries under the same numbers, and each conversation has a history of its
own; whatever else happens ends with a line that says what it was.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import aclosing, nullcontext
from pathlib import Path

from turnwire.agents.claude import ClaudeAgent
from turnwire.core.message import TextPart
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Request, Say, ToolUse, claude_environment

SPRING = "Write a file poem.txt with exactly one line: It is spring."
AUTUMN = "Change that line to: It is autumn."
WINTER = "Write another file, other.txt, with exactly one line: It is winter."
WHAT = "In one sentence: which seasons have we spoken of so far? Do not look at any file."


# --- what people do -----------------------------------------------------------------------------


async def say(talk: Talk, text: str, patience: float) -> int:
    """Say it, and show the answer. Returns where the log ends then."""
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
        raise SystemExit(f"Nothing came of it in {patience:g} seconds.") from None
    raise SystemExit("The conversation has ended.")


async def words(engine: Engine, talk: Talk) -> str:
    """All that was said in a conversation, by whomever."""
    entries = await engine.store.entries(talk.id)
    parts = [part for stored in entries for part in stored.entry.parts]
    return "\n".join(part.payload.text for part in parts if isinstance(part, TextPart))


async def numbered(engine: Engine, talk: Talk) -> list[tuple[int, str, object]]:
    """The log of a conversation."""
    entries = await engine.store.entries(talk.id)
    return [(each.sequence, each.entry.role, each.entry.parts) for each in entries]


async def play(engine: Engine, work: Path, patience: float) -> tuple[Talk, Talk]:
    """The whole story; returns both conversations."""
    poem = work / "poem.txt"
    talk = await engine.create("claude", cwd=str(work), permission_mode="acceptEdits")
    first = await say(talk, SPRING, patience)
    before = _content(poem)
    await say(talk, AUTUMN, patience)
    changed = _content(poem)
    if changed == before:
        raise SystemExit("Claude did not change the file.")

    answer = await talk.rewind_files(first + 1, user="you")
    print(f"You put back: {', '.join(answer.ack.files or [])}")
    print(f"  {poem.name} was {changed!r}, and is {_content(poem)!r} again.")
    if _content(poem) != before:
        raise SystemExit("The file did not come back.")
    *_, told = await engine.store.entries(talk.id)
    if told.entry.meta.get("messageType") != "rewind":
        raise SystemExit("The log does not say that it was put back.")
    print(f"  Entry {told.sequence} of the log says so; those before are as they were.")

    fork = await talk.fork(first, user="you")
    print(f"You fork the conversation behind entry {first}, and go on in both.")
    if await numbered(engine, fork) != (await numbered(engine, talk))[:first]:
        raise SystemExit("The fork does not begin as the other one does.")
    await say(fork, WINTER, patience)
    await say(fork, WHAT, patience)
    await say(talk, WHAT, patience)
    here, there = await words(engine, talk), await words(engine, fork)
    if WINTER in here or AUTUMN in there or SPRING not in there:
        raise SystemExit("The conversations have not each their own log.")
    return talk, fork


def _content(file: Path) -> str:
    if not file.exists():
        raise SystemExit(f"There is no {file.name}.")
    return file.read_text().strip()


# --- with and without a key ---------------------------------------------------------------------


def model(request: Request) -> Say | str:
    """What the model says in this story. It knows no more than it was told."""
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
    """What people had said when the model was asked."""
    contents = [message["content"] for message in request.messages if message["role"] == "user"]
    blocks = [b for each in contents for b in ([{"text": each}] if isinstance(each, str) else each)]
    texts = [str(block.get("text", "")).strip() for block in blocks]
    return [text for text in texts if text in (SPRING, AUTUMN, WINTER, WHAT)]


def check(requests: list[Request]) -> None:
    """See in the model's own log that each conversation was asked with its own history."""
    asked = [heard(request) for request in requests if heard(request)[-1:] == [WHAT]]
    for told in asked:
        print(f"The model was asked with: {' / '.join(told)}")
    if asked != [[SPRING, WINTER, WHAT], [SPRING, AUTUMN, WHAT]]:
        raise SystemExit("The model was not asked with the history of each conversation.")


async def main(*, offline: bool, patience: float) -> None:
    """Play it, and see whether it happened."""
    missing = None if offline else ClaudeAgent().unavailable()
    if missing is not None:
        raise SystemExit(f"{missing}\nOr see it without: {sys.argv[0]} --offline")
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
        "--offline", action="store_true", help="a scripted model instead of Claude's"
    )
    parser.add_argument(
        "--patience", type=float, default=180.0, help="seconds that each step may take"
    )
    given = parser.parse_args()
    asyncio.run(main(offline=given.offline, patience=given.patience))
