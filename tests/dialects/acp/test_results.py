"""Results of an ACP agent: what does not fit gets its default."""

from __future__ import annotations

from msgspec import UNSET, Raw

from turnwire.dialects.acp.results import (
    ConfigOption,
    ConfigValue,
    InitializeResult,
    PromptResult,
    SessionResult,
    read_result,
)


def test_a_result_is_read_as_far_as_it_fits() -> None:
    raw = Raw(b'{"protocolVersion":"one","agentCapabilities":{"loadSession":true,"odd":1}}')
    result = read_result(InitializeResult, raw)
    assert result.protocol_version == 0
    assert result.agent_capabilities.load_session


def test_no_result_is_an_empty_one() -> None:
    assert read_result(PromptResult, UNSET) == PromptResult()
    assert read_result(PromptResult, Raw(b"null")) == PromptResult()


def test_values_of_an_option_may_be_in_groups() -> None:
    raw = Raw(
        b'{"configOptions":[{"id":"m","category":"model","options":[{"value":"a","name":"A"},'
        b'{"group":"g","name":"G","options":[{"value":"b","name":"B"}]}]}]}'
    )
    option = read_result(SessionResult, raw).option("model")
    assert isinstance(option, ConfigOption)
    assert list(option.values()) == [ConfigValue("A", "a"), ConfigValue("B", "b")]
