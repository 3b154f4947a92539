"""`check_projector`: the existing projectors pass, and each kind of broken one fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from turnwire.core import happenings as h
from turnwire.core.growing import Growing
from turnwire.core.message import UnknownPart
from turnwire.core.opening import Opening
from turnwire.dialects.rpc.projector import RpcProjector
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.sent import Sent
from turnwire.testing import ProjectorBroken, check_projector


class V2(V2Projector):
    def __init__(self) -> None:
        super().__init__("talk")


def test_the_projectors_of_turnwire_pass_the_checks() -> None:
    check_projector(V2)
    check_projector(lambda: RpcProjector("demo", "session-1", "stream"))


class Loses(V2):
    """A projector that leaves out thinking."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        return [each for each in super().project(happened) if each.number != 2]


class Reorders(V2):
    """A projector that sends the newest first."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        return super().project(happened)[::-1]


class Mumbles(V2):
    """A projector that sends partials in any order."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[h.Happening] = []

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        said = [each for each in happened if isinstance(each, h.AgentSpoke)]
        if said and not self._kept:
            self._kept += said
            return super().project([each for each in happened if each not in said])
        late, self._kept = self._kept, []
        return super().project([*happened, *late])


class Strict(V2):
    """A projector that fails at unknown happenings."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        for each in happened:
            if isinstance(each, h.EntryAdded):
                for part in each.entry.parts:
                    if isinstance(part, UnknownPart):
                        raise TypeError("an unknown part")
        return super().project(happened)


class Forgets(V2):
    """Replays without numbers."""

    def replay(self, kept: h.Kept, now: str) -> list[Sent]:
        again = super().replay(kept, now)
        for each in again:
            each.number = None
        return again


class Endless(V2):
    """Replays no end of a turn."""

    def replay(self, kept: h.Kept, now: str) -> list[Sent]:
        return [] if isinstance(kept, h.TurnEnded) else super().replay(kept, now)


class Chatters(V2):
    """Has something to say always."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        return super().project(happened) or super().project([h.Changed("", "", None)])


class Secretive(V2):
    """A projector that sends new clients no growing blocks."""

    def present(self, now: h.Now) -> list[Sent]:
        return super().present(h.Now(now.at, now.head, now.status, Growing()))


class Rewrites(V2):
    """A projector that changes its earlier output."""

    def __init__(self) -> None:
        super().__init__()
        self._given: list[Sent] = []

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        for each in self._given:
            each.number = 1
        told = super().project(happened)
        self._given += told
        return told


class Understates(V2):
    """Says that nothing takes any room."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        told = super().project(happened)
        for each in told:
            each._size = 0
        return told


class Meddles(V2):
    """A projector that changes its input."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        told = super().project(happened)
        for each in happened:
            if isinstance(each, h.EntryAdded):
                each.entry.meta["told"] = True
        return told


class Distracted(V2):
    """Loses the others' next message when a client comes."""

    has_come = False

    def greet(self, opening: Opening) -> list[Sent]:
        self.has_come = True
        return super().greet(opening)

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        told = super().project(happened)
        if self.has_come:
            self.has_come = False
            return told[1:]
        return told


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Loses, "missing: [2]"),
        (Reorders, "numbers only rise"),
        (Mumbles, "the pieces of a block are projected in their order"),
        (Strict, "an unknown part"),
        (Forgets, "is replayed with its number"),
        (Endless, "the end of a turn is replayed"),
        (Chatters, "an empty publication gives no message"),
        (Secretive, "gets all of it so far"),
        (Rewrites, "a message does not change after it was returned"),
        (Understates, "the size of a message is about that of its bytes"),
        (Meddles, "a projector does not change its input"),
        (Distracted, "does not change what the others get"),
    ],
)
def test_a_broken_projector_fails(broken: Any, said: str) -> None:
    with pytest.raises(ProjectorBroken) as failed:
        check_projector(broken)
    assert said in str(failed.value)
