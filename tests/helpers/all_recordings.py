"""Events of every recorded agent, and of every scene of the demo, played with a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache

from tests.agents.helpers.session_driver import Ear, talking
from tests.helpers.recorded_streams import FIXTURES
from turnwire.agents.demo import DemoAgent
from turnwire.cli.recordings.recording import events_of, open_recording
from turnwire.cli.recordings.rpc_stream import RPC_AGENTS
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.claude import ClaudeStreamAdapter

__all__ = ["BOTH", "BOTH_AND_SCENES", "DEMO_SCENES", "RECORDINGS", "events_in"]

_MOST = 64 * 1024 * 1024
_TOOL = {"name": "paint", "description": "Paints.", "parameters": {"type": "object"}}

_WORDY = ("hello", "help", "long")
DEMO_SCENES = (
    *("hello", "help", "think", "use a tool", "ask me", "form", "permission", "plan"),
    *("subagent", "long", "error", "background", "front-end tool"),
    "think, ask me, permission, plan",
)
RECORDINGS = tuple(
    f"{folder}/{path.name}"
    for folder, pattern in (
        ("claude", "*.jsonl"),
        ("claude_live", "*.jsonl"),
        ("codex", "*.jsonl"),
        ("acp", "*.jsonl"),
    )
    for path in sorted((FIXTURES / folder).glob(pattern))
)
"""The recorded streams, by folder and file. Those of Claude have one or both directions."""
BOTH = [each for each in RECORDINGS if each.removesuffix(".jsonl") + ".io.jsonl" not in RECORDINGS]
"""The same without those of one direction that are also there with the lines of the host."""
BOTH_AND_SCENES = [*BOTH, *DEMO_SCENES]


@cache
def events_in(name: str) -> Sequence[NormalizedStreamEvent]:
    """Returns the events of a recording, or of a scene of the demo."""
    return _recorded(name) if name in RECORDINGS else asyncio.run(_played(name))


def _recorded(name: str) -> list[NormalizedStreamEvent]:
    agent = name.partition("/")[0]
    with open_recording(str(FIXTURES / name), max_line=_MOST) as recording:
        if agent in RPC_AGENTS:
            stream = RPC_AGENTS[agent]()
            batches = stream.batches(recording)
            events = [event for batch in batches for heard in batch for event in heard.events]
            return [*events, *stream.finish()]
        adapter = ClaudeStreamAdapter()
        entries = [entry for batch in recording.batches() for entry in batch]
        events = [event for entry in entries for event in events_of(entry, adapter)]
        return [*events, *adapter.finish()]


async def _played(words: str) -> list[NormalizedStreamEvent]:
    """Plays a scene with a person who allows and answers everything; a short one twice."""
    out: list[NormalizedStreamEvent] = []
    async with talking(DemoAgent(delay=0), client_tools=[_TOOL]) as ear:
        for turn in (1,) if words in _WORDY else (1, 2):
            before = len(ear.events)
            await ear.say(words)
            await _accompany(ear, turn)
            words_of_turn: list[ContentBlock] = [TextBlock(f"{words} ({turn})", "completed")]
            said = ev.UserMessage(
                "demo", ear.events[0].session_id, None, None, words_of_turn, "user"
            )
            out += [said, *ear.events[before:]]
    return out


async def _accompany(ear: Ear, turn: int) -> None:
    """Answers the requests of a turn until it has ended."""
    answered: set[str] = set()

    def replies() -> list[Reply]:
        """Returns the answers to the requests that are open."""
        questions = [
            Reply(each.tool_use_id, "question", "Blue") for each in ear.all(ev.QuestionAsked)
        ]
        allowed = [
            Reply(each.request_id, "permission", None, "allow")
            for each in ear.all(ev.PermissionRequested)
        ]
        return [each for each in (*questions, *allowed) if each.request_id not in answered]

    while True:
        await ear.until(lambda: replies() or ear.order.turns_ended >= turn)
        given = replies()
        if not given:
            return
        answered |= {each.request_id for each in given}
        await ear.session.deliver(given, resumed=False)
