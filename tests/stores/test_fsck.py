"""Every kind of damage is made by hand on every store, found, and repaired truthfully."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stores.helpers.damage import DAMAGE, IMPOSSIBLE, IN_OTHER_TESTS, OF_STORE
from tests.stores.helpers.fsck_runs import Harm, Place, changed, harm, kinds, look, repair
from tests.stores.helpers.sample_logs import broken_rules_of_replay
from tests.stores.helpers.sql import rows_of
from turnwire.stores.fsck import KINDS

NAMES = ("talk", "asks", "large")


def test_a_sound_log_is_clean(place: Place) -> None:
    report = look(place)
    assert (report.findings, report.conversations, report.entries) == ([], 3, 40)
    assert not look(place, repair=True).findings
    assert all(not broken_rules_of_replay(place, name) for name in NAMES)


# --- every kind ---------------------------------------------------------------------------------


def found_and_repaired(place: Place, harms: list[Harm], expected: set[str]) -> None:
    harm(place, *harms)
    size = place.stat().st_size if isinstance(place, Path) else 0
    found = look(place)
    assert kinds(found) == expected, found.findings
    assert not any(finding.repaired for finding in found.findings)
    assert kinds(look(place)) == expected, "looking changes nothing"
    assert size == (place.stat().st_size if isinstance(place, Path) else 0)
    repair(place)


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_repaired(what: str, place: Place) -> None:
    found_and_repaired(place, *DAMAGE[what])


@pytest.mark.parametrize("what", OF_STORE["sqlite"])
def test_damage_of_a_file_is_found_and_repaired(what: str, path: Path) -> None:
    found_and_repaired(path, *OF_STORE["sqlite"][what])


@pytest.mark.parametrize("what", OF_STORE["postgres"])
def test_damage_of_a_database_is_found_and_repaired(what: str, database: str) -> None:
    found_and_repaired(database, *OF_STORE["postgres"][what])


@pytest.mark.parametrize("store", OF_STORE)
def test_every_kind_is_made_on_every_store(store: str) -> None:
    damages = [*DAMAGE.values(), *OF_STORE[store].values()]
    made = {kind for _, expected in damages for kind in expected}
    assert made | IN_OTHER_TESTS == set(KINDS)


def test_damage_of_one_store_is_made_on_the_other_or_impossible_there() -> None:
    assert OF_STORE["sqlite"].keys() - OF_STORE["postgres"].keys() == IMPOSSIBLE.keys()


@pytest.mark.parametrize("number", range(1, 36))
def test_any_entry_may_be_lost(number: int, path: Path) -> None:
    lose_one(path, number)


@pytest.mark.parametrize("number", range(1, 36, 6))
def test_an_entry_of_a_database_may_be_lost(number: int, database: str) -> None:
    lose_one(database, number)


def lose_one(place: Place, number: int) -> None:
    harm(place, f"DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = {number}")
    assert "gap" in kinds(repair(place))
    before = rows_of(place, "SELECT count(*) FROM messages WHERE conversation_id = 'talk'")
    assert before[0][0] >= 35


@pytest.mark.parametrize("seed", range(12))
def test_many_entries_may_be_lost(seed: int, path: Path) -> None:
    lose_many(path, seed)


@pytest.mark.parametrize("seed", range(3))
def test_many_entries_of_a_database_may_be_lost(seed: int, database: str) -> None:
    lose_many(database, seed)


def lose_many(place: Place, seed: int) -> None:
    harm(
        place,
        "DELETE FROM messages WHERE conversation_id = 'talk'"
        f" AND (sequence_num * 7919 + {seed} * 104729) % 5 < 2",
        f"DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id % 3 = {seed % 3}",
        f"UPDATE requests SET outcome = NULL WHERE {seed} % 2 = 1",
    )
    repair(place)


# --- counters -----------------------------------------------------------------------------------


def test_a_repair_counts_what_it_writes(place: Place) -> None:
    harm(place, "UPDATE conversations SET \"user\" = 'ann' WHERE conversation_id = 'talk'")
    assert kinds(repair(place)) == {"counter_wrong"}
    harm(place, changed("turns", "end_json", "turn_id = 3", interrupted=True))
    assert kinds(repair(place)) == {"stop_missing"}
