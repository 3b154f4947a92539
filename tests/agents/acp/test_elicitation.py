"""Forms, web pages and logins of an ACP agent, through a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.acp.helpers.scripted_stage import stage
from tests.agents.acp.helpers.sessions import opened, scripted
from turnwire.core import events as ev
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.ports import AgentGone, SessionStart


async def test_a_form_is_not_sent_without_its_required_fields(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.talk.send("form")
        asked = await it.asked()
        size, note = asked.questions
        assert (size.required, note.required) == (True, False)
        with pytest.raises(Refused, match=r"'Soup\? Size' needs an answer\."):
            await it.talk.answer(asked.question_id, {note.id: "hot"})
        await it.talk.answer(asked.question_id, {size.id: "large"})
        assert not (await it.ends()).is_error
        content = '{"action": "accept", "content": {"size": "large"}}'
        assert it.text == [f"You said {content}. Done."]


async def test_a_question_ends_when_a_person_has_finished_on_its_web_page(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.talk.send("website")
        asked = await it.asked()
        assert asked.questions[0].question == "Log in\nhttps://example.org/in"
        assert not (await it.ends()).is_error  # no person has answered here
        assert it.text == ["You did accept. Done."]
        assert (await it.talk.status()).requests == []
        [resolved] = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
        assert resolved.by == "agent"
        with pytest.raises(Refused):
            await it.talk.answer(asked.question_id, "Accept")
        [result] = it.results.values()
        assert (result.content, result.is_error) == ("Accepted.", False)


async def test_a_login_that_expires_in_a_turn_fails_the_turn_and_says_how_to_log_in(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as it:
        end = await it.says("logout")
        assert end.error is not None
        assert end.error.code == "auth_required"
        said = end.error.message
        assert said.startswith("The login has expired. Log in on the server's machine: ")
        assert "Log in (Run `scripted login`)" in said
        assert "key (set SCRIPTED_KEY in `env` of the agent's settings)" in said
        assert "Terminal (run `PROGRAM log in` in a terminal, with the agent's own program)" in said
        assert not (await it.says("hello")).is_error


async def test_a_login_that_asks_before_the_session_is_open_ends_with_what_it_asked(
    tmp_path: Path,
) -> None:
    env = {"SCRIPTED_LOGIN": "1", "SCRIPTED_WITHOUT": "browser"}
    agent = scripted(tmp_path, env=env, auth_method="login")
    with pytest.raises(AgentGone, match=r"Authentication required\. It asked: Log in here: https:"):
        await agent.open(SessionStart("talk"))
    async with stage(tmp_path, env=env, auth_method="login") as it:
        end = await it.says("hello")
        assert end.error is not None
        assert "It asked: Log in here: https://example.org/in. Log in on" in end.error.message


async def test_a_form_that_lacks_a_required_field_is_declined(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("form")
        await talk.until(lambda: talk.first(ev.QuestionAsked) is not None, "a question")
        asked = talk.first(ev.QuestionAsked)
        assert asked is not None
        answer = {asked.questions[1].id: "hot"}  # the engine would refuse it
        await talk.session.deliver([Reply(asked.request_id, "question", answer)], resumed=False)
        await talk.turn_ends(1)
        assert talk.text() == 'You said {"action": "decline"}. Done.'
