"""The queue: its order, and its changes by people."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.conversation.helpers.driver import Talk, at, refusal, running, suspended
from turnwire.core.content import TextContent
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.core.status import QueueItem


def waiting(*texts: str, **options: Any) -> Talk:
    """A running turn, and messages that wait."""
    talk = running(**options)
    for text in texts:
        talk.say(text)
    return talk.forget()


def held(*texts: str, **options: Any) -> Talk:
    """Messages that wait for a person, because a turn has failed."""
    return waiting(*texts, **options).fails().forget()


# --- waiting ------------------------------------------------------------------------------------


def test_later_input_waits_under_an_id_and_leaves_no_trace_in_the_log() -> None:
    talk = running()
    ack = talk.say("Next")
    assert (ack.turn_id, ack.queue_id, ack.held) == (None, talk.queue_id("Next"), False)
    assert (talk.told, talk.commands, talk.queue) == ([], [], ["Next"])


def test_the_state_shows_the_queue() -> None:
    (item,) = waiting("Next").status.queue
    assert item == QueueItem(
        item.queue_id, [TextContent("Next")], f"m-{item.queue_id}", "ada", at(0)
    )


def test_queued_messages_run_in_the_order_of_their_acceptance() -> None:
    talk = waiting("One", "Two").ends().starts().ends()
    assert talk.told == [
        "turn 1 completed",
        "turn 2 begins: user",
        "user: One",
        "turn 2 completed",
        "turn 3 begins: user",
        "user: Two",
    ]
    assert talk.commands == ["prompt 2: One", "prompt 3: Two"]


def test_a_full_queue_refuses_and_nothing_was_written() -> None:
    talk = waiting("One", "Two", max_queue=2)
    before = talk.state
    assert refusal(lambda: talk.say("Three")) == "TURN_QUEUE_FULL"
    assert talk.state is before


def test_messages_that_are_too_large_together_do_not_wait_together() -> None:
    long = "x" * (1 << 20)
    talk = waiting(long)  # one may always wait
    before = talk.state
    with pytest.raises(Refused) as refused:
        talk.say(long)
    assert refused.value.code == "TURN_QUEUE_FULL"
    assert refused.value.data == {"max_queue": 16, "max_queue_bytes": 1 << 21}
    assert talk.state is before
    talk.say("short")
    new = [TextContent(long)]
    assert refusal(lambda: talk.change("replace", "short", content=new)) == "TURN_QUEUE_FULL"
    talk.change("replace", long, content=new)  # it makes room for itself
    talk.change("remove", long)
    talk.change("replace", "short", content=new)
    assert talk.queue == [long]


def test_the_size_of_the_queue_counts_as_written() -> None:
    controls = "\x01" * 200_000  # six bytes each, as JSON
    assert refusal(lambda: waiting(controls).say(controls)) == "TURN_QUEUE_FULL"


def test_a_title_is_found_after_empty_lines() -> None:
    talk = Talk()
    talk.say("\n \n" * 5000 + "  The title \nMore")
    assert talk.state.title == "The title"


def test_a_queue_of_nothing_lets_one_turn_run() -> None:
    talk = Talk(max_queue=0)
    assert talk.say("One").turn_id == 1
    assert refusal(lambda: talk.say("Two")) == "TURN_QUEUE_FULL"


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_message_is_refused(text: str) -> None:
    assert refusal(lambda: Talk().say(text)) == "INVALID_PAYLOAD"
    assert refusal(lambda: Talk().say([])) == "INVALID_PAYLOAD"


# --- held ---------------------------------------------------------------------------------------


def test_a_failed_turn_holds_the_queue() -> None:
    talk = waiting("One").fails()
    assert talk.told == ["turn 1 failed: api_error"]
    assert (talk.status.queue_held, talk.queue) == (True, ["One"])


def test_an_empty_queue_is_not_held() -> None:
    assert not running().fails().status.queue_held


def test_a_message_joins_a_held_queue_and_lets_it_go_on() -> None:
    talk = held("One")
    ack = talk.say("Two")
    assert (ack.queue_id, ack.held) == (talk.queue_id("Two"), True)
    assert talk.told == ["turn 2 begins: user", "user: One"]
    assert (talk.status.queue_held, talk.queue) == (False, ["Two"])


def test_a_held_queue_that_is_full_takes_one_more_because_its_first_one_starts() -> None:
    talk = held("One", "Two", max_queue=2)
    assert talk.say("Three").held
    assert talk.queue == ["Two", "Three"]


def test_a_person_lets_a_held_queue_go_on() -> None:
    talk = held("One")
    talk.change("resume")
    assert talk.told == ["turn 2 begins: user", "user: One"]


def test_a_queue_that_is_not_held_goes_on_as_before() -> None:
    talk = waiting("One")
    talk.change("resume")
    assert (talk.told, talk.queue) == ([], ["One"])


def test_a_held_queue_stays_held_while_the_agent_does_something_of_its_own() -> None:
    talk = held("One").starts().ends()
    assert talk.told == ["turn 2 begins: agent", "turn 2 completed"]
    assert talk.status.queue_held


def test_a_message_during_the_agents_own_turn_releases_the_queue_after_it() -> None:
    talk = held("One").starts()
    assert talk.say("Two").held
    assert talk.forget().ends().told == ["turn 2 completed", "turn 3 begins: user", "user: One"]


# --- changing it --------------------------------------------------------------------------------


def test_a_removed_message_leaves_no_trace_in_the_log() -> None:
    talk = waiting("One", "Two")
    ack = talk.change("remove", "One")
    assert ack.queue_id is not None
    assert (talk.told, talk.queue) == ([], ["Two"])


def test_a_queue_that_becomes_empty_is_not_held_any_more() -> None:
    talk = held("One", "Two")
    talk.change("remove", "One")
    assert talk.status.queue_held
    talk.change("remove", "Two")
    assert not talk.status.queue_held


def test_a_message_is_replaced_where_it_waits() -> None:
    talk = waiting("One", "Two")
    talk.change("replace", "One", content=[TextContent("First")])
    assert talk.queue == ["First", "Two"]


@pytest.mark.parametrize("content", [None, [], [TextContent(" ")]])
def test_a_message_is_not_replaced_by_nothing(content: Any) -> None:
    talk = waiting("One")
    assert refusal(lambda: talk.change("replace", "One", content=content)) == "INVALID_PAYLOAD"


@pytest.mark.parametrize(
    ("moved", "before", "order"),
    [
        ("One", "Three", ["Two", "One", "Three"]),
        ("Three", "One", ["Three", "One", "Two"]),
        ("One", None, ["Two", "Three", "One"]),
        ("Three", None, ["One", "Two", "Three"]),
        ("Two", "Two", ["One", "Two", "Three"]),
        ("Two", "Three", ["One", "Two", "Three"]),
    ],
)
def test_a_message_is_moved_before_another_or_to_the_end(
    moved: str, before: str | None, order: list[str]
) -> None:
    talk = waiting("One", "Two", "Three")
    talk.change("move", moved, before=before and talk.queue_id(before))
    assert talk.queue == order


@pytest.mark.parametrize("action", ["remove", "replace", "move"])
def test_a_message_that_is_not_queued_cannot_be_changed(action: str) -> None:
    talk = waiting("One")
    assert refusal(lambda: talk.change(action, "Hello")) == "QUEUE_ITEM_NOT_FOUND"
    assert refusal(lambda: talk.change(action)) == "QUEUE_ITEM_NOT_FOUND"


def test_no_message_is_moved_before_one_that_is_not_queued() -> None:
    talk = waiting("One")
    move = lambda: talk.change("move", "One", before="q-unknown")  # noqa: E731
    assert refusal(move) == "QUEUE_ITEM_NOT_FOUND"


def test_an_unknown_queue_action_is_refused() -> None:
    talk = waiting("One", "Two")
    dance: Any = "dance"
    assert refusal(lambda: talk.change(dance, "One")) == "INVALID_PAYLOAD"
    assert talk.queue == ["One", "Two"]


# --- after a restart ----------------------------------------------------------------------------


def restarted() -> Talk:
    """A message whose turn was started but not dispatched, and another queued message."""
    talk = Talk()
    talk.say("One")
    talk.say("Two")
    return talk.restart().forget()


def test_the_queue_survives_a_restart_and_is_then_held() -> None:
    talk = waiting("One", "Two").restart()
    assert (talk.queue, talk.status.queue_held) == (["One", "Two"], True)
    assert talk.commands == []


def test_with_continue_the_queue_goes_on_after_a_restart() -> None:
    talk = waiting("One", on_disconnect="continue").restart()
    assert talk.commands == ["prompt 2: One"]


def test_with_continue_a_queue_that_a_person_has_not_continued_stays_held() -> None:
    talk = held("One", on_disconnect="continue").restart()
    assert (talk.status.queue_held, talk.commands) == (True, [])


def test_a_started_message_waits_before_the_queue_and_is_not_part_of_it() -> None:
    talk = restarted()
    status = talk.status
    assert (talk.queue, status.queue_held) == (["Two"], True)
    assert (status.state, status.running, status.turn_id) == ("active", False, 1)
    assert status.reason == "server_restart"
    assert talk.commands == []


@pytest.mark.parametrize("go_on", [lambda t: t.change("resume"), lambda t: t.say("Three")])
def test_a_started_message_goes_on_at_a_persons_request(go_on: Any) -> None:
    talk = restarted()
    go_on(talk)
    assert talk.commands == ["prompt 1: One"]
    assert (talk.status.running, talk.status.turn_id) == (True, 1)


def test_with_continue_a_started_message_goes_on_by_itself() -> None:
    talk = Talk(on_disconnect="continue")
    talk.say("One")
    talk.forget().restart()
    assert talk.commands == ["prompt 1: One"]


def test_a_started_message_waits_through_every_restart() -> None:
    talk = restarted()
    talk.change("resume")
    talk.restart().forget()
    assert (talk.status.running, talk.status.turn_id) == (False, 1)
    talk.change("resume")
    assert talk.commands == ["prompt 1: One"]


@pytest.mark.parametrize(
    ("queue", "left", "begins"), [("hold", ["Two"], 0), ("continue", [], 1), ("clear", [], 0)]
)
def test_a_started_message_can_be_stopped_while_it_waits(
    queue: Any, left: list[str], begins: int
) -> None:
    talk = restarted()
    assert talk.stop(1, queue).outcome == "requested"
    assert talk.told[:2] == ["stopped: user", "turn 1 interrupted"]
    assert (talk.queue, len(talk.commands)) == (left, begins)


def test_a_started_message_does_not_count_for_the_queues_limit() -> None:
    talk = Talk(max_queue=1)
    talk.say("One")
    talk.restart()
    assert talk.say("Two").queue_id is not None
    assert refusal(lambda: talk.say("Three")) == "TURN_QUEUE_FULL"


# --- the title ----------------------------------------------------------------------------------


def test_the_first_words_are_the_title() -> None:
    talk = Talk()
    talk.say("\n  Fix the build \nplease")
    talk.say("Something else")
    assert talk.status.title == "Fix the build"


def test_a_long_title_is_cut() -> None:
    talk = Talk()
    talk.say("x" * 200)
    assert talk.status.title == "x" * 79 + "…"


def test_a_long_title_is_cut_between_words() -> None:
    talk = Talk()
    talk.say("word " * 40)
    assert talk.status.title == " ".join(["word"] * 15) + "…"


def test_a_person_gives_another_title() -> None:
    talk = running()
    talk.do(i.Renamed(at=talk.now, title=" Build ", by="ada"))
    assert talk.status.title == "Build"
    assert talk.audited()[-1] == ("renamed", "ada")
    kept = [write for write in talk.writes if isinstance(write, e.Audit)]
    assert "Build" not in repr(kept)  # the trail stays when the conversation is deleted


def test_an_empty_title_is_refused() -> None:
    talk = running()
    assert refusal(lambda: talk.do(i.Renamed(at=0, title=" "))) == "INVALID_PAYLOAD"


# --- the audit ----------------------------------------------------------------------------------


def test_the_audit_trail_names_the_user_who_changed_the_queue() -> None:
    talk = waiting("One", "Two", "Three")
    talk.change("remove", "One")
    talk.change("replace", "Two", content=[TextContent("Second")])
    talk.change("move", "Three", before=talk.queue_id("Second"))
    talk.change("resume")
    assert talk.audited()[-4:] == [
        ("queue_remove", "ada"),
        ("queue_replace", "ada"),
        ("queue_move", "ada"),
        ("queue_resume", "ada"),
    ]


def test_a_queue_after_a_suspended_turn_waits_for_the_answer() -> None:
    talk = suspended()
    assert talk.say("Next").queue_id is not None
    assert (talk.told, talk.commands) == ([], [])
