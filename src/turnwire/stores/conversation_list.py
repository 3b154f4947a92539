"""The filters of a list of conversations, and their labels as they are stored."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnwire.core.text import clean, json_text
from turnwire.ports import Activity

__all__ = ["Wanted", "label_text", "labels_json"]


class Wanted(Struct, frozen=True):
    """The conversations that a list is to have. None: all of them."""

    user: str | None
    archived: bool
    pinned: bool  # only pinned ones
    label: str | None
    agent: str | None
    activity: Activity | None
    limit: int
    offset: int


def label_text(label: str | None) -> str | None:
    """Returns a label as it is stored: without NUL, which PostgreSQL has in no JSON."""
    return None if label is None else clean(label).replace("\0", "")


def labels_json(labels: Sequence[str] | None) -> str | None:
    """Returns the labels as JSON. Returns None for None: they stay as they are."""
    return None if labels is None else json_text([label_text(label) for label in labels])
