"""What became of everything that was acknowledged, and of commits whose connection was lost."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from tests.prove.helpers import journal as j
from tests.prove.helpers.history import History

__all__ = ["Figures", "figures_of"]


class Figures(Struct):
    """Counts of one or several histories."""

    acknowledged: int = 0  # inputs of people
    lost: int = 0  # acknowledged, but not in the store
    doubled: int = 0  # messages that are in a log more than once
    in_doubt: int = 0  # commits whose connection was lost
    unsettled: int = 0  # commits that stayed in doubt, although their server lived on

    def add(self, other: Figures) -> None:
        """Adds the counts of another history."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def figures_of(history: History) -> Figures:
    """Counts one history."""
    told = [line for line in history.of(j.Told) if line.ack is not None and not line.duplicate]
    counts = [
        Counter(name for name, _ in log.said_by_people()).values() for log in history.logs.values()
    ]
    doubts: Counter[int] = Counter()
    for line in history.of(j.InDoubt):
        doubts[line.pid] += line.commits
    certain: Counter[int] = Counter()
    for each in history.of(j.Certain):
        certain[each.pid] += each.commits
    killed = {line.pid for line in history.of(j.Killed)}
    return Figures(
        acknowledged=len(told),
        lost=sum(line.name not in history.logs[line.talk].receipts for line in told),
        doubled=sum(count - 1 for each in counts for count in each),
        in_doubt=doubts.total(),
        unsettled=sum(doubts[pid] - certain[pid] for pid in doubts if pid not in killed),
    )
