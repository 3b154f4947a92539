"""What a session offers to choose from: which values an option takes, and who may choose them."""

from __future__ import annotations

from turnwire.core.offers import OptionValue, SessionOption, offers_of, open_to_all

EFFORT = SessionOption("effort", kind="thought_level", values=[OptionValue("low")])
BRAVE = SessionOption("brave", kind="safety")


def test_an_option_with_values_takes_only_those() -> None:
    assert EFFORT.takes("low")
    assert not EFFORT.takes("high")
    assert not EFFORT.takes(True)


def test_an_option_without_values_is_switched_on_or_off() -> None:
    assert BRAVE.takes(True)
    assert BRAVE.takes(False)
    assert not BRAVE.takes("on")


def test_every_user_may_choose_how_the_model_answers_and_no_more() -> None:
    assert open_to_all([EFFORT, BRAVE]) == [EFFORT]


def test_equal_offers_have_the_same_id() -> None:
    assert offers_of(["m"]) == offers_of(["m"])
    assert offers_of(["m"]).id != offers_of(["n"]).id
