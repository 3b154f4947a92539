"""The settings of an ACP session: the request that changes each, and their current values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.acp.helpers.stream import Stream
from turnwire.core import events as ev
from turnwire.dialects.acp import messages as rpc

MODEL = {"id": "m", "category": "model", "currentValue": "a", "options": [{"value": "a"}]}
BRAVE = {"id": "brave", "type": "boolean", "currentValue": False}
MODELS = {"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]}
MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]}


def opened(**result: Any) -> Stream:
    stream = Stream()
    stream.host({"id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}})
    stream.agent({"id": 1, "result": {"sessionId": "s", **result}})
    return stream


def asks(stream: Stream, method: str, **params: Any) -> None:
    stream.host({"id": 7, "method": f"session/{method}", "params": {"sessionId": "s", **params}})


def told(stream: Stream, **result: Any) -> ev.SessionOffered:
    """The agent makes the change. Returns what the session offers then."""
    [event] = stream.agent({"id": 7, "result": result})
    assert isinstance(event, ev.SessionOffered)
    return event


@pytest.mark.parametrize(
    ("result", "name", "value", "kind", "params"),
    [
        ({"configOptions": [MODEL]}, "model", "b", rpc.SetConfigOption, {"configId": "m"}),
        ({"configOptions": [BRAVE]}, "brave", True, rpc.SetConfigOption, {"configId": "brave"}),
        ({"models": MODELS}, "model", "b", rpc.SetModel, {"modelId": "b"}),
        ({"modes": MODES}, "mode", "code", rpc.SetMode, {"modeId": "code"}),
    ],
)
def test_a_setting_is_changed_as_the_session_offers_it(
    result: dict[str, Any], name: str, value: Any, kind: type, params: dict[str, Any]
) -> None:
    change = opened(**result).adapter.settings.change("s", name, value)
    assert change is not None
    assert change[0] is kind
    assert change[1].items() >= {"sessionId": "s", **params}.items()
    is_switch = isinstance(value, bool)
    assert ("type" in change[1]) == is_switch, "a switch says that it is one"


@pytest.mark.parametrize("name", ["model", "mode", "brave"])
def test_a_setting_that_the_session_does_not_offer_has_no_request(name: str) -> None:
    assert opened().adapter.settings.change("s", name, "x") is None


def test_a_model_that_was_changed_is_the_current_one() -> None:
    stream = opened(models=MODELS)
    asks(stream, "set_model", modelId="b")
    assert told(stream).model == "b"


def test_a_mode_that_was_changed_is_the_current_one_in_both_forms() -> None:
    option = {"id": "way", "category": "mode", "currentValue": "ask"}
    for result in ({"modes": MODES}, {"modes": MODES, "configOptions": [option]}):
        stream = opened(**result)
        asks(stream, "set_mode", modeId="code")
        assert told(stream).permission_mode == "code"


def test_an_option_that_was_changed_has_its_new_value_also_if_the_agent_repeats_no_list() -> None:
    stream = opened(configOptions=[MODEL, BRAVE])
    asks(stream, "set_config_option", configId="brave", value=True, type="boolean")
    assert told(stream).options == {"brave": True}


def test_the_list_in_the_response_is_the_new_list() -> None:
    stream = opened(configOptions=[BRAVE])
    asks(stream, "set_config_option", configId="brave", value=True, type="boolean")
    other = {"id": "careful", "type": "boolean", "currentValue": False}
    assert told(stream, configOptions=[other]).options == {"careful": False}


def test_a_change_that_the_agent_refuses_changes_nothing() -> None:
    stream = opened(models=MODELS)
    asks(stream, "set_model", modelId="b")
    assert stream.agent({"id": 7, "error": {"code": -32602, "message": "no"}}) == []
    assert stream.adapter.settings.model == "a"


def test_a_list_of_another_form_changes_nothing() -> None:
    stream = opened(configOptions=[BRAVE])
    stream.update("config_option_update", configOptions=[{"id": 5}])
    assert stream.adapter.settings.values == {"brave": False}


def test_a_prompt_that_cannot_be_sent_is_a_turn_that_fails() -> None:
    stream = opened()
    stream.take(stream.adapter.refused("no_pictures", "It takes no pictures."))
    failed = stream.only(ev.TurnFailed)
    assert (failed.code, failed.message) == ("no_pictures", "It takes no pictures.")
