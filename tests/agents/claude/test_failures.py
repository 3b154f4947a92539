"""What goes wrong at the API, and how a person hears of it."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.stage import bash, kill_claude, stage, touch
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Fail, Reply, Request, Say, Text

FEW = {"CLAUDE_CODE_MAX_RETRIES": "1"}


def news(it: Any, subtype: str) -> list[Any]:
    return [e.payload for e in it.seen.of(f.SessionSystemEvent) if e.payload.subtype == subtype]


async def test_a_wrong_credential_fails_within_ten_seconds(tmp_path: Path) -> None:
    wrong = Fail(401, "invalid x-api-key")
    async with stage(tmp_path, *[wrong] * 20) as it:
        end = await it.says("hi")
        [asked] = it.api.requests  # it is not asked again
        # From the refusal on: how long a program takes to start is a matter of the machine.
        assert time.time() - asked.at < 10
        assert end.is_error
        assert end.error is not None
        assert end.error.code == "authentication_failed"
        assert end.error.message == (
            "The API refuses Claude: authentication_failed (HTTP 401). "
            "Give Claude a credential that is valid: ANTHROPIC_API_KEY."
        )
        assert not end.interrupted


@pytest.mark.parametrize(
    ("replies", "code", "words"),
    [
        ([Fail(400, "no good")] * 9, "invalid_request", "no good"),
        ([Fail(529)] * 9, "overloaded", "529"),
        ([Fail(429, "slow down", headers={"retry-after": "0"})] * 9, "rate_limit", "slow down"),
    ],
    ids=["400", "529", "429"],
)
async def test_an_error_of_the_api_fails_the_turn_and_says_what_to_do(
    tmp_path: Path, replies: list[Fail], code: str, words: str
) -> None:
    async with stage(tmp_path, *replies, env=FEW) as it:
        end = await it.says("hi")
        assert end.is_error
        assert end.error is not None
        assert words in end.error.message
        assert end.error.code == code
        assert (await it.talk.status()).state == "error"


async def test_an_overloaded_api_is_asked_again(tmp_path: Path) -> None:
    async with stage(tmp_path, Fail(529), "Here I am.", env=FEW) as it:
        end = await it.says("hi")
        assert not end.is_error
        assert it.text == ["Here I am."]
        assert len(news(it, "api_retry")) == 1


async def test_a_stream_that_breaks_off_begins_again_and_nothing_is_said_twice(
    tmp_path: Path,
) -> None:
    cut = Say([Text("Half a sentence that", cuts=4)], cut_after=4)
    async with stage(tmp_path, cut, "A whole sentence.", env=FEW) as it:
        end = await it.says("hi")
        assert not end.is_error
        assert it.text == ["A whole sentence."]


EVENTS = 6  # the start of the message, that of the block, three pieces; then the call is whole


@pytest.mark.parametrize("break_off", ["cut_after", "error_after"])
async def test_a_call_that_breaks_off_at_any_event_is_never_half_made(
    tmp_path: Path, break_off: str
) -> None:
    options = {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]}
    async with stage(tmp_path, options=options, env={"CLAUDE_CODE_MAX_RETRIES": "3"}) as it:
        for number in range(EVENTS):
            call = touch(f"made_{number}", f"bash_{number}")
            half = touch(f"half_{number}", f"half_{number}")
            broken = Say([half], **{break_off: number})  # type: ignore[arg-type]
            it.api.say_next(broken, Say([call]), "Made.")
            end = await it.says(f"make {number}")
            assert not end.is_error, number
            assert (it.work / f"made_{number}").exists()
            assert not (it.work / f"half_{number}").exists()


@pytest.mark.parametrize(
    "broken",
    [
        Say([Text("Half a sentence that", cuts=4)], cut_after=4),
        Say([Text("Half a sentence that", cuts=4)], error_after=4, error="api_error"),
        Say([touch("made")], cut_after=4),
    ],
    ids=["text cut", "text error", "call cut"],
)
async def test_a_stream_that_breaks_off_again_and_again_fails_the_turn(
    tmp_path: Path, broken: Say
) -> None:
    async with stage(tmp_path, *[broken] * 12, env=FEW) as it:
        end = await it.says("hi")
        assert end.error is not None
        assert end.error.code == "server_error"
        assert "Try again" in end.error.message
        assert not (it.work / "made").exists()


async def test_an_error_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    broken = Say([Text("Half a sentence that", cuts=4)], error_after=4)
    async with stage(tmp_path, broken, "A whole sentence.", env=FEW) as it:
        end = await it.says("hi")
        assert not end.is_error
        assert it.text == ["A whole sentence."]


async def test_too_many_turns(tmp_path: Path) -> None:
    options = {"model": "claude-sonnet-4-5", "max_turns": 1}
    async with stage(tmp_path, Say([bash("echo hi")]), "Not heard.", options=options) as it:
        end = await it.says("use a tool")
        assert end.error is not None
        assert end.error.code == "max_turns"
        assert "go on" in end.error.message


async def test_too_much_money(tmp_path: Path) -> None:
    options = {"model": "claude-sonnet-4-5", "max_budget_usd": 0.0001}
    async with stage(tmp_path, Say([bash("echo hi")]), "Not heard.", options=options) as it:
        end = await it.says("use a tool")
        assert end.error is not None
        assert end.error.code == "BUDGET_EXCEEDED"
        assert "max_budget_usd" in end.error.message


async def test_a_model_that_is_overloaded_is_replaced_and_an_event_says_so(tmp_path: Path) -> None:
    options = {"model": "claude-opus-4-5", "fallback_model": "claude-sonnet-4-5"}

    def model(request: Request) -> Reply:
        return Fail(529) if "opus" in request.body["model"] else "From the other one."

    async with stage(tmp_path, *[model] * 12, options=options) as it:
        end = await it.says("hi")
        assert not end.is_error
        assert it.text == ["From the other one."]
        [told] = news(it, "model_fallback")
        assert told.data["original_model"] == "claude-opus-4-5"
        assert told.data["fallback_model"] == "claude-sonnet-4-5"
        assert told.message_sequence, "it is in the log"


async def test_a_conversation_is_compacted_and_an_event_says_so(tmp_path: Path) -> None:
    summary = "<summary>Ann said hi.</summary>"
    async with stage(tmp_path, "Hello.", "Again.", summary, "Yes, Ann.") as it:
        await it.says("I am Ann")
        await it.says("hi again")
        end = await it.says("/compact")
        assert not end.is_error
        [told] = news(it, "compact_boundary")
        assert told.data["compact_metadata"]["trigger"] == "manual"
        assert told.message_sequence, "it is in the log"
        await it.says("do you know me?")
        assert it.text == ["Hello.", "Again.", "Yes, Ann."], "the summary is for the model alone"
        assert "Ann said hi." in str(it.api.requests[-1].messages)


async def test_a_refusal_of_the_model_is_told_and_what_was_said_stays(tmp_path: Path) -> None:
    refused = Say(["First you"], stop_reason="refusal")
    async with stage(tmp_path, refused, "I will not.") as it:
        end = await it.says("how does one pick a lock?")
        assert not end.is_error, "the program goes on once, and says that it does"
        [told] = news(it, "informational")
        assert "safeguards stopped the response" in told.data["content"]
        assert told.message_sequence, "it is in the log"
        assert it.text == ["First you", "I will not."]


async def test_a_model_that_refuses_again_fails_the_turn(tmp_path: Path) -> None:
    refused = Say(["First you"], stop_reason="refusal")
    async with stage(tmp_path, refused, refused) as it:
        end = await it.says("how does one pick a lock?")
        assert end.error is not None
        assert end.error.code == "invalid_request"
        assert "Say it differently" in end.error.message
        [told] = news(it, "model_refusal_no_fallback")
        assert told.message_sequence, "it is in the log"


async def test_a_program_that_dies_is_told_by_its_turn_and_not_on_standard_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage(tmp_path, Say([Text("One, two", 2, hold="")])) as it:
        await it.talk.send("count")
        await it.seen.until(f.AssistantChunk)
        kill_claude()
        end = await it.ends()
        assert end.error is not None
        assert end.error.code == "agent_lost"
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
