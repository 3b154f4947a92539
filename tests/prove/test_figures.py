"""The figures of a sweep count what was lost, doubled or left in doubt."""

from __future__ import annotations

from collections.abc import Sequence

from tests.prove.helpers import journal as j
from tests.prove.helpers.figures import Figures, figures_of
from tests.prove.helpers.history import Entry, History, TalkLog
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import Message, meta_of


def a_history(*lines: j.Lines, said: Sequence[str] = (), receipts: Sequence[str] = ()) -> History:
    entries = [
        Entry(number, Message("c:1", "user", [], "", meta_of("c:1", client_message_id=name)), 1, "")
        for number, name in enumerate(said, 1)
    ]
    acks: dict[str, dict[str, object]] = {name: {} for name in receipts}
    log = TalkLog("c", len(entries), Conversation("c"), entries, [], [], acks, set())
    return History(list(lines), {"c": log}, "epoch")


def told(name: str) -> j.Told:
    return j.Told(talk="c", kind="send", name=name, ack={})


def test_an_acknowledged_input_without_a_receipt_is_lost() -> None:
    found = figures_of(a_history(told("m-1"), told("m-2"), said=["m-1"], receipts=["m-1"]))
    assert found == Figures(acknowledged=2, lost=1)


def test_a_message_that_is_in_the_log_twice_is_doubled() -> None:
    assert figures_of(a_history(said=["m-1", "m-2", "m-1"])) == Figures(doubled=1)


def test_a_commit_in_doubt_is_settled_unless_its_server_is_killed_before() -> None:
    doubt = j.InDoubt(pid=1, commits=3)
    assert figures_of(a_history(doubt)) == Figures(in_doubt=3, unsettled=3)
    settled = figures_of(a_history(doubt, j.Certain(pid=1, commits=3)))
    assert settled == Figures(in_doubt=3)
    assert figures_of(a_history(doubt, j.Killed(pid=1, how="x"))) == Figures(in_doubt=3)


def test_the_figures_of_several_histories_are_added() -> None:
    found = Figures(1, 2, 3, 4, 5)
    found.add(Figures(1, 1, 1, 1, 1))
    assert found == Figures(2, 3, 4, 5, 6)
