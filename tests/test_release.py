"""The release notes are the changelog's section of the version."""

from __future__ import annotations

import pytest

from tools.release import ROOT, notes
from turnwire import __version__

CHANGELOG = """\
# Changelog

What changes.

## [Unreleased]

### Added

- Something [new](docs/new.md#part), as [others](https://example.org/it) have it.

## [0.2.0] - 2026-12-01

### Fixed

- What was [wrong](docs/wrong.md).

## [0.1.0] - 2026-11-01

The first version.

[Unreleased]: https://example.org/compare/v0.2.0...HEAD
[0.2.0]: https://example.org/compare/v0.1.0...v0.2.0
[0.1.0]: https://example.org/releases/v0.1.0
"""


def test_the_notes_are_the_part_about_the_version() -> None:
    text = notes(CHANGELOG, "0.2.0")
    assert text.startswith("# Turnwire 0.2.0\n\n### Fixed\n\n- What was [wrong](https://")
    assert "The first version" not in text
    assert "Something" not in text


def test_a_version_without_a_section_has_the_unreleased_notes() -> None:
    assert "- Something [new]" in notes(CHANGELOG, "0.3.0")


def test_the_last_part_ends_before_the_targets_of_the_headings() -> None:
    assert notes(CHANGELOG, "0.1.0") == "# Turnwire 0.1.0\n\nThe first version.\n"


def test_links_into_the_repository_lead_to_the_files_of_that_version() -> None:
    text = notes(CHANGELOG, "0.3.0")
    assert "/blob/v0.3.0/docs/new.md#part)" in text
    assert "(https://example.org/it)" in text


@pytest.mark.parametrize(
    "changelog", ["# Changelog\n", "## [Unreleased]\n\n## [0.1.0] - 2026-11-01\n"]
)
def test_no_notes_without_a_part_to_make_them_of(changelog: str) -> None:
    with pytest.raises(ValueError, match=r"no part about 9\.9\.9"):
        notes(changelog, "9.9.9")


def test_the_changelog_gives_notes_for_this_version() -> None:
    text = notes((ROOT / "CHANGELOG.md").read_text(), __version__)
    assert "### Added" in text
    assert "](docs/" not in text
