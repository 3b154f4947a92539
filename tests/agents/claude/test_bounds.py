"""Bounds: the options of an agent limit the models and the effort of its conversations, for every user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import Stage, stage
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.options.bounds import bounds_of
from turnwire.agents.claude.options.sdk_options import own_options, sdk_options
from turnwire.agents.claude.options.validation import narrowed, read_options
from turnwire.core import controls as c
from turnwire.core.error_codes import Refused
from turnwire.ports import SessionStart
from turnwire.testing.model_api import Say, ToolUse

SMALL, LARGE = "claude-haiku-4-5", "claude-opus-4-5"


def asked(it: Stage) -> set[str]:
    """The models that were asked for."""
    return {request.body["model"] for request in it.api.requests}


async def test_no_model_or_effort_beyond_the_bounds_is_used(tmp_path: Path) -> None:
    """`default` is the agent's own model, not Claude Code's, and a sub-agent has no other, either."""
    large = {"description": "d", "prompt": "look left", "subagent_type": "general-purpose"}
    send = ToolUse("Agent", {**large, "model": "opus", "run_in_background": False}, id="a1")
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 20_000}}
    async with stage(
        tmp_path,
        *("One.", "Two.", Say([send]), "Back.", "Three."),
        lanes={"look left": ["Left."]},
        options={"model": SMALL, "max_thinking_tokens": 2000},
        models=[SMALL],
        conversation={"options": thinks},
    ) as it:
        await it.says("one")
        assert it.api.requests[-1].body["thinking"]["budget_tokens"] == 2000
        await it.talk.set_model("default")
        await it.talk.set_max_thinking_tokens(30_000)
        await it.says("two")
        assert it.api.requests[-1].body["thinking"]["budget_tokens"] == 2000
        [refused] = it.news("choice_refused")
        assert refused["message"] == "The limit of this agent is 2000 tokens."
        assert (await it.talk.status()).max_thinking_tokens is None
        await it.says("send a helper with a large model")
        [default, own] = (await it.talk.control(c.ListModels())).ack.result.models  # type: ignore[union-attr]
        assert (default.model, default.resolved, own.model) == (
            "default",
            own.resolved or SMALL,
            SMALL,
        )
        await it.stop()
        await it.start_again()
        await it.says("three")
        assert asked(it) == {SMALL}, [(r.lane, r.body["model"]) for r in it.api.requests]


def test_which_model_a_process_is_started_with() -> None:
    for bounds, wanted, model in (
        (bounds_of(), None, None),
        (bounds_of(), LARGE, LARGE),
        (bounds_of(model=SMALL), "default", SMALL),
        (bounds_of(model=SMALL), LARGE, LARGE),
        (bounds_of(model=SMALL, models=[LARGE]), None, SMALL),
        (bounds_of(model=SMALL, models=[LARGE]), LARGE, LARGE),
        (bounds_of(models=[LARGE, SMALL]), "default", LARGE),
        (bounds_of(models=[SMALL]), LARGE, SMALL),  # the log is older than this rule
        (bounds_of(models=["haiku"]), "claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001"),
        (bounds_of(models=["haiku"]), LARGE, "haiku"),
    ):
        assert own_options(sdk_options({}), SessionStart("c", model=wanted), bounds).model == model


def test_settings_of_the_application_are_kept_with_the_models(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"cleanupPeriodDays": 3}')
    for settings in ('{"cleanupPeriodDays": 3}', "mine.json", str(tmp_path / "mine.json")):
        here, elsewhere = str(tmp_path), str(tmp_path.parent)
        for own, start in (
            (here, SessionStart("c")),
            (elsewhere, SessionStart("c", cwd=here)),  # where a conversation works counts
        ):
            made = sdk_options({"settings": settings, "cwd": own})
            assert own_options(made, start, bounds_of()).settings == settings
            told = own_options(made, start, bounds_of(models=[SMALL])).settings
            assert '"cleanupPeriodDays":3' in told
            assert f'"availableModels":["{SMALL}"]' in told


def test_models_of_sub_agents_and_fallbacks_are_among_the_allowed_models() -> None:
    bound = ClaudeAgent({"model": SMALL}, models=["sonnet"])

    def helper(model: str) -> dict[str, Any]:
        return {"agents": {"a": {"description": "d", "prompt": "p", "model": model}}}

    for good in ("inherit", "sonnet", SMALL, "claude-sonnet-4-5"):
        assert bound.check_options(helper(good))
    with pytest.raises(Refused, match=f"'a' may not use '{LARGE}'; allowed: sonnet"):
        bound.check_options(helper(LARGE))
    with pytest.raises(Refused, match=f"model '{LARGE}' is not allowed; allowed: sonnet"):
        bound.check_options({"fallback_model": f"sonnet,{LARGE}"})
    assert ClaudeAgent().check_options(helper(LARGE))


@pytest.mark.parametrize(
    ("agents", "own", "thinking"),
    [
        ({}, {"type": "adaptive"}, {"type": "adaptive"}),
        (
            {},
            {"type": "enabled", "budget_tokens": 9000},
            {"type": "enabled", "budget_tokens": 9000},
        ),
        (
            {"max_thinking_tokens": 2000},
            {"type": "adaptive"},
            {"type": "enabled", "budget_tokens": 2000},
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
            {"type": "enabled", "budget_tokens": 9000},
            {"type": "enabled", "budget_tokens": 3000},
        ),
        (
            {"max_thinking_tokens": 2000},
            {"type": "enabled", "budget_tokens": 1500},
            {"type": "enabled", "budget_tokens": 1500},
        ),
        ({"thinking": {"type": "disabled"}}, {"type": "adaptive"}, {"type": "disabled"}),
        ({"max_thinking_tokens": 2000}, {"type": "disabled"}, {"type": "disabled"}),
    ],
)
def test_a_conversation_thinks_no_more_than_its_agent(agents: Any, own: Any, thinking: Any) -> None:
    assert narrowed(sdk_options(agents), read_options({"thinking": own})).thinking == thinking


def test_nor_does_it_take_more_trouble() -> None:
    helpers = {"agents": {"a": {"description": "d", "prompt": "p", "effort": "max"}}}
    own = narrowed(sdk_options({"effort": "low"}), read_options(helpers))
    assert own.agents["a"].effort == "low"
    for agents, own, effort in (
        ("low", "max", "low"),
        ("high", "low", "low"),
        (None, "max", "max"),
    ):
        assert (
            narrowed(sdk_options({"effort": agents}), read_options({"effort": own})).effort
            == effort
        )
