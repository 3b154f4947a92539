"""What a session of an ACP agent offers can be chosen: models, modes and further options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.acp.helpers.scripted_stage import ScriptedStage, stage
from tests.agents.acp.helpers.sessions import opened, scripted
from turnwire.core import events as ev
from turnwire.core.controls import (
    ListModels,
    ListSessionOptions,
    Model,
    Models,
    SessionOptions,
    SetSessionOption,
)
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f


async def chosen(it: ScriptedStage) -> dict[str, Any]:
    """Returns the settings as the agent itself has them in its next turn."""
    before = len(it.text)
    assert not (await it.says("settings")).is_error
    said: dict[str, Any] = json.loads("".join(it.text[before:]).removesuffix("Done."))
    return said


async def test_an_offer_of_the_session_can_be_chosen_before_the_first_message(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as it:
        await it.talk.set_model("large", user="ann")
        await it.talk.set_permission_mode("code", user="ann")
        await it.talk.control(SetSessionOption("effort", "high"))
        await it.talk.control(SetSessionOption("web", True))
        status = await it.talk.status()
        assert (status.model, status.permission_mode) == ("large", "code")
        assert status.session_options == {"effort": "high", "web": True}
        assert await chosen(it) == {"m": "large", "mode": "code", "effort": "high", "web": True}
        # The reports of the agent agree with what was chosen.
        assert await it.talk.status() != status
        assert (await it.talk.status()).model == "large"


async def test_a_choice_stays_after_a_restart(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.says("hello")
        await it.talk.set_model("large")
        await it.talk.set_permission_mode("code")
        await it.talk.control(SetSessionOption("effort", "high"))
        await it.engine.stop()
        await it.seen.ends()
        await it.store.close()
        await it.start_again()
        # Known without a session, from the log's own state.
        able = await it.engine.capabilities_of(it.talk.row)
        assert (able.models, able.permission_modes) == (["small", "large"], ["ask", "code"])
        assert [each.option for each in able.session_options] == ["effort", "web"]
        assert not it.engine.alive
        with pytest.raises(Refused, match="Choose one of: small, large"):
            await it.talk.set_model("huge")
        assert not it.engine.alive
        assert await chosen(it) == {"m": "large", "mode": "code", "effort": "high", "web": False}
        status = await it.talk.status()
        assert (status.model, status.permission_mode) == ("large", "code")
        assert status.session_options == {"effort": "high", "web": False}


async def test_a_choice_that_the_session_does_not_offer_is_refused_with_its_offers(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as it:
        await it.talk.control(ListModels())  # opens a session
        with pytest.raises(Refused, match="Choose one of: small, large"):
            await it.talk.set_model("huge")
        with pytest.raises(Refused, match="no default to go back to"):
            await it.talk.set_model(None)
        with pytest.raises(Refused, match="Choose one of: ask, code"):
            await it.talk.set_permission_mode("odd")
        with pytest.raises(Refused, match=r"no option 'odd'; there is: effort, web\."):
            await it.talk.control(SetSessionOption("odd", "x"))
        with pytest.raises(Refused, match=r"no value 'high'\. Choose one of: low\."):
            await it.talk.control(SetSessionOption("effort", "high"))  # only the large model has it
        with pytest.raises(Refused, match=r"no value 'yes'\. Choose one of: true, false"):
            await it.talk.control(SetSessionOption("web", "yes"))
        assert await chosen(it) == {"m": "small", "mode": "ask", "effort": "low", "web": False}


async def test_followers_see_new_offers_and_what_the_agent_chooses_by_itself(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as it:
        await it.says("hello")
        first = await it.engine.capabilities_of(it.talk.row)
        assert (await it.talk.status()).offers == first.offers
        await it.says("switch")
        told = (
            await it.seen.until(f.SessionState, lambda each: each.payload.model == "large")
        ).payload
        assert told.session_options == {"effort": "high", "web": False}
        now = await it.engine.capabilities_of(it.talk.row)
        assert told.offers == now.offers != first.offers  # the large model has more efforts
        assert [each.value for each in now.session_options[0].values] == ["low", "high"]
        async for frame in it.talk.follow():
            assert isinstance(frame, f.SessionConnected)
            assert frame.payload.capabilities == now
            break


async def test_a_choice_of_the_creation_that_the_session_does_not_offer_is_taken_back(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, {"model": "huge", "permission_mode": "code"}) as it:
        assert await chosen(it) == {"m": "small", "mode": "code", "effort": "low", "web": False}
        [refused] = it.news("choice_refused")
        assert refused == {"model": "There is no such value"}
        assert (await it.talk.status()).model == "small"


async def test_the_settings_of_the_owner_limit_what_can_be_chosen(tmp_path: Path) -> None:
    async with stage(tmp_path, models=["small"], permission_modes=["ask"]) as it:
        await it.says("hello")
        able = await it.engine.capabilities_of(it.talk.row)
        assert (able.models, able.permission_modes) == (["small"], ["ask"])
        with pytest.raises(Refused, match="Choose one of: small"):
            await it.talk.set_model("large")
        answer = await it.talk.control(ListModels())
        assert answer.ack.result == Models([Model("small", "Small")])


async def test_other_users_choose_only_what_widens_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.says("hello")
        able = await it.engine.capabilities_of(it.talk.row, is_owner=False)
        assert (able.models, able.permission_modes) == (["small", "large"], [])
        assert [each.option for each in able.session_options] == ["effort"]


async def test_a_session_of_an_agent_without_choices_offers_none(tmp_path: Path) -> None:
    async with stage(tmp_path, env={"SCRIPTED_WITHOUT": "modes"}) as it:
        await it.talk.set_model("large")  # only a session can tell
        await it.says("hello")
        [refused] = it.news("choice_refused")
        assert refused == {"model": "This agent has no model to choose."}
        assert (await it.talk.status()).model is None
        with pytest.raises(Refused, match="no choice of a model"):
            await it.talk.set_model("large")
        answer = await it.talk.control(ListSessionOptions())
        assert answer.ack.result == SessionOptions([], {})


async def test_an_option_that_the_agent_refuses_is_a_refusal(tmp_path: Path) -> None:
    env = {"SCRIPTED_WITHOUT": "changes"}
    async with opened(scripted(tmp_path, env=env)) as talk:
        with pytest.raises(Refused, match="The agent refused the option: Not now"):
            await talk.session.control(SetSessionOption("web", True))
        told = talk.first(ev.SessionOffered)
        assert told is not None
        assert told.options["web"] is False
