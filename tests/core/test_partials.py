"""Partials of an interrupted block."""

from __future__ import annotations

from turnwire.core.blocks import TextBlock, ThinkingBlock
from turnwire.core.events import AssistantMessage
from turnwire.core.partials import Partial, cut_short


def test_an_interrupted_text_is_a_finished_block_that_is_marked() -> None:
    partial = Partial("m-1", 2, "text", "Once upon", 0, 7, "t-1", "a-1", "demo", "opus")
    block = TextBlock("Once upon", "completed")
    said = AssistantMessage("demo", "s-1", "t-1", "a-1", "m-1", 2, [block], "opus", aborted=True)
    assert cut_short(partial, "s-1") == said


def test_so_is_thinking() -> None:
    [block] = cut_short(Partial("m-1", 0, "thinking", "Hmm")).content
    assert block == ThinkingBlock("Hmm", "completed")


def test_a_partial_names_its_block() -> None:
    assert Partial("m-1", 2, "text", "").block == ("m-1", 2)
