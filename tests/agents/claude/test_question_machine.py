"""The state machine of Claude's question: every input in every state, and no answer is lost."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.agents.claude.questions.question_machine import (
    TRANSITIONS,
    Act,
    Answer,
    Cause,
    NotPossible,
    Question,
    State,
)
from turnwire.core.conversation.state import Reply

STATES: tuple[State, ...] = get_args(State)
CAUSES: tuple[Cause, ...] = get_args(Cause)

# Impossible inputs: a process is opened once, and only one that was opened for the question can resume.
REFUSED: set[tuple[State, Cause]] = {
    *((state, "opened") for state in STATES if state != "idle"),
    *((state, "not_continued") for state in STATES if state != "resuming"),
    *((state, "resumed") for state in STATES if state != "resuming"),
    # In these no call of Claude waits at the gate.
    *((state, "answered") for state in ("idle", "deferred", "owed")),
    *((state, "hold_over") for state in ("idle", "deferred", "owed")),
    ("resuming", "hold_over"),  # there it waits as long as it takes
    ("idle", "result"),  # there is no call
    ("owed", "asked"),  # its answer is there
}


def answered(call: str, answer: str = "teal", *, of: str | None = None) -> Reply:
    return Reply(call, "question", answer, parent_tool_use_id=of)


# --- the table ----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_is_a_transition_or_refused(state: State, cause: Cause) -> None:
    question = Question()
    question.state = state
    if (state, cause) in REFUSED:
        assert cause not in TRANSITIONS[state]
        with pytest.raises(NotPossible, match=f"{cause} in the state {state}"):
            question.happens(cause)
        assert question.state == state
    else:
        to, act = TRANSITIONS[state][cause]
        assert question.happens(cause) == act
        assert question.state == to


def test_every_state_is_reached_and_left_and_every_act_is_done() -> None:
    assert [*TRANSITIONS] == [*STATES]
    reached: set[State] = {"idle"}
    for _ in STATES:
        reached |= {to for state in reached for to, _ in TRANSITIONS[state].values()}
    assert reached == {*STATES}
    for state in STATES:
        assert TRANSITIONS[state]["turn_done"].to == TRANSITIONS[state]["turn_cut"].to == "idle"
    acts = {act for row in TRANSITIONS.values() for _, act in row.values()}
    assert acts == {*get_args(Act)}


def test_the_design_explains_every_state_and_every_act() -> None:
    """Another test compares the drawing of the design page with the table."""
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "design.md").read_text()
    assert f"<!-- drawn:{Question.__module__} -->" in page
    assert all(f"\n| `{state}` | " in page for state in STATES)
    assert all(f"\n| {act} | " in page for act in get_args(Act) if act)


def test_the_way_of_an_answer_in_the_design_exists() -> None:
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "design.md").read_text()
    way = page.partition("answered after a restart takes this way")[2].partition("\n## ")[0]
    stops = re.findall(r"`([\w/]+)\.py` `([\w.]+)`", way)
    assert len(stops) > 8
    for module, name in stops:
        found: Any = import_module(f"turnwire.agents.claude.{module.replace('/', '.')}")
        for part in name.split("."):
            found = getattr(found, part)


# --- random inputs ------------------------------------------------------------------------------


def test_a_question_is_held_until_it_is_answered() -> None:
    question = Question()
    question.call("q")
    assert question.blocks("another")
    assert not question.blocks("q")
    assert question.ask("q", is_own=True) == ("show", None)
    assert question.ask("another", is_own=True) == ("refuse", None)
    assert question.ask("helper", is_own=False) == ("refuse", None)
    assert question.answer(answered("q")) == "give"
    assert question.state == "idle"
    assert question.ask("another", is_own=True) == ("show", None), "one after the other"


def test_a_question_that_is_not_answered_in_time_is_deferred_and_the_next_process_has_the_answer() -> (
    None
):
    question = Question()
    question.ask("q", is_own=True)
    assert question.end_hold("q") == "defer"
    assert question.ask("another", is_own=True) == ("refuse", None)
    assert question.answer(answered("q")) == "leave", "the engine gives it to the next process"
    assert question.end_turn(is_done=False) == []
    again = Question()
    again.open("q")
    answer = Answer(answered("q"))
    assert again.resume([answered("q")]) == ("keep", answer)
    assert again.was_asked("q")
    assert again.ask("q", is_own=True) == ("give", answer)
    assert again.state == "idle"
    assert again.end_turn(is_done=True) == [], "once"


@pytest.mark.parametrize("call", ["q", None], ids=["known", "no_record"])
def test_a_question_may_be_asked_again_before_its_answer_arrives(call: str | None) -> None:
    question = Question()
    question.open(call)
    assert question.ask("q", is_own=True) == ("wait", None)
    act, answer = question.resume([answered("h", of="t"), answered("q")])
    assert (act, question.state) == ("give", "idle")
    assert answer == Answer(answered("q"), (answered("h", of="t"),)), "a helper's is told beside it"


@pytest.mark.parametrize("is_done", [True, False])
def test_an_answer_whose_question_does_not_come_back_is_sent_as_text(is_done: bool) -> None:
    """After a stop or a failure the engine begins the next turn with the answer."""
    question = Question()
    question.open("q")
    replies = [answered("h", of="t"), answered("q")]
    question.resume(replies)
    assert question.ask("another", is_own=True) == ("refuse", None)
    told = question.end_turn(is_done=is_done)
    assert told == ([answered("q"), answered("h", of="t")] if is_done else [])
    assert question.state == "idle"


def test_an_answer_without_a_possible_call_is_sent_as_text_at_once() -> None:
    for state, replies in [("idle", [answered("q")]), ("resuming", [answered("h", of="t")])]:
        question = Question()
        if state == "resuming":
            question.open("q")
        assert question.resume(replies) == ("tell", None)
        assert question.state == "idle"


def test_a_cancelled_deferred_question_is_withdrawn_first() -> None:
    question = Question()
    question.open("q")
    assert question.happens("superseded") == "interrupt"
    assert question.happens("superseded") == "", "once"
    assert question.ask("q", is_own=True) == ("hold", None)
    assert question.end_hold("q") == "defer"
    assert question.end_turn(is_done=False) == []
    assert question.state == "idle"


def test_an_answer_may_come_before_its_call_is_at_the_gate() -> None:
    question = Question()
    question.call("q")
    assert question.answer(answered("q")) == "keep"
    assert question.was_asked("q"), "and its hooks were"
    assert question.ask("q", is_own=True) == ("give", Answer(answered("q")))
    assert question.state == "idle"


def test_a_sub_agents_question_waits_for_as_long_as_it_takes() -> None:
    question = Question()
    assert question.ask("h", is_own=False) == ("show_only", None)
    assert question.ask("q", is_own=True) == ("show", None), "another question may be asked"
    assert question.end_turn(is_done=True) == []
    assert question.answer(answered("h", of="t")) == "give", "it outlives the turn"


def test_a_call_with_a_result_has_no_question_any_more() -> None:
    question = Question()
    question.call("q")
    question.note_result("another")
    assert question.blocks("x")
    question.note_result("q")
    assert not question.blocks("x"), "a hook has refused it, before it came to the gate"


# --- any order ----------------------------------------------------------------------------------

CALLS = ["a", "b", "c"]
ORDERS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["call", "ask", "ask_helper", "hold_over", "leave_gate", "result"]),
            st.sampled_from(CALLS),
        ),
        st.tuples(st.just("answer"), st.sampled_from(CALLS)),
        st.tuples(st.just("resume"), st.lists(st.sampled_from(CALLS), min_size=1, unique=True)),
        st.tuples(st.sampled_from(["superseded", "done", "cut"]), st.none()),
    ),
    max_size=40,
)


class Fates:
    """Applies random inputs in random order, and records the fate of each answer."""

    def __init__(self, opened: bool, deferred: str | None) -> None:
        self.question = Question()
        self.fates: dict[str, list[str]] = {}  # by answer
        self.kept: dict[str, str] = {}  # by answer: how it came
        self._held: set[str] = set()  # calls at the gate that can be deferred
        self._names = (f"answer {number}" for number in count())
        if opened:
            self.question.open(deferred)

    def make(self, call: str, how: str) -> Reply:
        """An answer. That to `c` is for a sub-agent."""
        name = next(self._names)
        self.fates[name] = []
        self.kept[name] = how
        return answered(call, name, of="t" if call == "c" else None)

    def ends(self, replies: list[Reply], fate: str) -> None:
        for reply in replies:
            self.fates[reply.answer].append(fate)
            self.kept.pop(reply.answer, None)

    def do(self, what: str, about: Any) -> None:
        question = self.question
        match what:
            case "call" if not question.blocks(about):
                question.call(about)
            case "ask" | "ask_helper":
                act, answer = question.ask(about, is_own=what == "ask")
                if act in ("show", "hold"):
                    self._held.add(about)
                assert (answer is not None) == (act == "give")
                if answer is not None:
                    assert answer.reply.request_id == about, "no call gets another one's"
                    self.ends([answer.reply], "result")
                    self.ends([*answer.in_words], "words")
            case "hold_over" if about in self._held:
                self._held.remove(about)
                assert question.end_hold(about) == "defer"
            case "leave_gate":
                self._held.discard(about)
                question.leave_gate(about)
            case "result":
                question.note_result(about)
            case "answer":
                reply = self.make(about, "answered")
                act = question.answer(reply)
                assert act in ("give", "keep", "leave")
                if act != "keep":
                    self._held.discard(about)
                    self.ends([reply], "result" if act == "give" else "left")
            case "resume":
                replies = [self.make(call, "resumed") for call in about]
                act, answer = question.resume(replies)
                if act == "give":
                    assert answer is not None
                    self._held.discard(answer.reply.request_id)
                    self.ends([answer.reply], "result")
                    self.ends([*answer.in_words], "words")
                elif act == "tell":
                    self.ends(replies, "words")
            case "superseded":
                question.happens("superseded")
            case "done" | "cut":
                self.ends(question.end_turn(is_done=what == "done"), "words")
                for name, how in [*self.kept.items()]:
                    assert how == "answered" or what == "cut", "it is told, if it is not stopped"
                    self.fates[name].append("left")  # the engine has it
                self.kept.clear()
            case _:
                pass


@settings(max_examples=500)
@given(opened=st.booleans(), deferred=st.sampled_from([None, "a", "b"]), order=ORDERS)
def test_an_answer_is_delivered_once_or_sent_as_text_or_left_to_the_engine_in_any_order(
    opened: bool, deferred: str | None, order: list[tuple[str, Any]]
) -> None:
    it = Fates(opened, deferred)
    for what, about in [*order, ("done", None)]:
        it.do(what, about)
    assert all(len(fate) == 1 for fate in it.fates.values()), it.fates
    assert it.question.state == "idle"
