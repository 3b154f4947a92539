"""Failures of the model's API, and how they are shown to a person."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from tests.agents.claude.helpers.real_claude import Stage, bash, stage, touch
from tests.helpers.loop_time import own_time
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Fail, Reply, Request, Say, Text
from turnwire.testing.model_api.server import Answer


def news(it: Any, subtype: str) -> list[Any]:
    return [e.payload for e in it.seen.of(f.SessionSystemEvent) if e.payload.subtype == subtype]


class Weather:
    """A model that gives the same answer to every request of a turn."""

    def __init__(self) -> None:
        self._next: Iterator[Answer] = iter(())

    def __call__(self, request: Request) -> Reply:
        reply = next(self._next)
        return reply(request) if callable(reply) else reply

    async def during(
        self, it: Stage, *replies: Answer, always: Answer = "Unasked.", words: str = "hi"
    ) -> TurnEnd:
        """A turn that meets these replies, and then always the same one."""
        self._next = chain(replies, repeat(always))
        return await it.says(words)


async def test_a_wrong_credential_fails_within_ten_seconds(tmp_path: Path) -> None:
    refusals: list[float] = []

    def wrong(request: Request) -> Reply:
        refusals.append(taken.seconds)
        return Fail(401, "invalid x-api-key")

    async with own_time() as taken, stage(tmp_path, *[wrong] * 20) as it:
        end = await it.says("hi")
        [refused] = refusals  # it is not asked again
        # From the refusal on: how long a program takes to start is a matter of the machine.
        assert taken.seconds - refused < 10
        assert end.is_error
        assert end.error is not None
        assert end.error.code == "authentication_failed"
        assert end.error.message == (
            "The API refuses Claude: authentication_failed (HTTP 401). "
            "Give Claude a credential that is valid: ANTHROPIC_API_KEY."
        )
        assert not end.interrupted


async def test_a_lasting_failure_fails_the_turn_with_advice(
    tmp_path: Path,
) -> None:
    half = Text("Half a sentence that", cuts=4)
    refused = Say(["First you"], stop_reason="refusal")
    weather = Weather()
    options = {"model": "claude-sonnet-4-5", "max_turns": 1}
    few = {"CLAUDE_CODE_MAX_RETRIES": "1"}
    async with stage(tmp_path, *[weather] * 200, options=options, env=few) as it:
        troubles: list[tuple[Reply, str, str]] = [
            (Fail(400, "no good"), "invalid_request", "no good"),
            (Fail(529), "overloaded", "529"),
            (Fail(429, "slow down", headers={"retry-after": "0"}), "rate_limit", "slow down"),
            (Say([half], cut_after=4), "server_error", "Try again"),
            (Say([half], error_after=4, error="api_error"), "server_error", "Try again"),
            (Say([touch("made")], cut_after=4), "server_error", "Try again"),
            (refused, "invalid_request", "Say it differently"),
        ]
        for trouble, code, words in troubles:
            end = await weather.during(it, always=trouble)
            assert end.is_error, trouble
            assert end.error is not None
            assert (end.error.code, words in end.error.message) == (code, True), end.error
            assert (await it.talk.status()).state == "error"
        [told] = news(it, "model_refusal_no_fallback")
        assert told.message_sequence, "it is in the log"

        end = await weather.during(it, Say([bash("echo hi")]))
        assert end.error is not None
        assert end.error.code == "max_turns"
        assert "go on" in end.error.message
        end = await weather.during(it, "Here I am.")
        assert not end.is_error, "whatever it was, the next turn is none the worse"
        assert it.text[-1] == "Here I am."
        assert not (it.work / "made").exists()


EVENTS = 6  # the start of the message, that of the block, three pieces; then the call is whole


async def test_a_retried_answer_is_shown_once_and_an_event_names_the_retry(
    tmp_path: Path,
) -> None:
    half = Text("Half a sentence that", cuts=4)
    options = {
        "model": "claude-opus-4-5",
        "fallback_model": "claude-sonnet-4-5",
        "allowed_tools": ["Bash"],
    }
    weather = Weather()
    some = {"CLAUDE_CODE_MAX_RETRIES": "3"}
    async with stage(tmp_path, *[weather] * 200, options=options, env=some) as it:
        end = await weather.during(it, Fail(529), "Here I am.")
        assert not end.is_error
        assert len(news(it, "api_retry")) == 1, "it was asked again"
        for broken in (Say([half], cut_after=4), Say([half], error_after=4)):
            end = await weather.during(it, broken, "A whole sentence.")
            assert not end.is_error
        assert it.text == ["Here I am.", *["A whole sentence."] * 2], "nothing is said twice"

        for how in ("cut_after", "error_after"):  # a call is never half made
            for number in range(EVENTS):
                name = f"{how}_{number}"
                half_a_call = touch(f"half_{name}", f"half_{name}")
                broken = Say([half_a_call], **{how: number})  # type: ignore[arg-type]
                call = Say([touch(f"made_{name}", name)])
                end = await weather.during(it, broken, call, "Made.")
                assert not end.is_error, name
                assert (it.work / f"made_{name}").exists()
                assert not (it.work / f"half_{name}").exists()

        refused = Say(["First you"], stop_reason="refusal")
        end = await weather.during(it, refused, "I will not.")
        assert not end.is_error, "the program goes on once, and says that it does"
        [told] = [e for e in news(it, "informational") if "safeguards" in e.data["content"]]
        assert "safeguards stopped the response" in told.data["content"]
        assert told.message_sequence, "it is in the log"
        assert it.text[-2:] == ["First you", "I will not."], "what was said stays"

        def overloaded(request: Request) -> Reply:
            return Fail(529) if "opus" in request.body["model"] else "From the other one."

        end = await weather.during(it, always=overloaded)
        assert not end.is_error
        assert it.text[-1] == "From the other one."
        [told] = news(it, "model_fallback")
        assert told.data["original_model"] == "claude-opus-4-5"
        assert told.data["fallback_model"] == "claude-sonnet-4-5"
        assert told.message_sequence, "it is in the log"

        said = it.text
        end = await weather.during(it, "<summary>Ann said hi.</summary>", words="/compact")
        assert not end.is_error
        [told] = news(it, "compact_boundary")
        assert told.data["compact_metadata"]["trigger"] == "manual"
        assert told.message_sequence, "it is in the log"
        await weather.during(it, "Yes, Ann.", words="do you know me?")
        assert it.text == [*said, "Yes, Ann."], "the summary is for the model alone"
        assert "Ann said hi." in str(it.api.requests[-1].messages)


async def test_a_turn_above_the_budget_fails(tmp_path: Path) -> None:
    options = {"model": "claude-sonnet-4-5", "max_budget_usd": 0.0001}
    async with stage(tmp_path, Say([bash("echo hi")]), "Not heard.", options=options) as it:
        end = await it.says("use a tool")
        assert end.error is not None
        assert end.error.code == "BUDGET_EXCEEDED"
        assert "max_budget_usd" in end.error.message
