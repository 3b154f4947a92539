"""Joins the saved pieces of unfinished blocks."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from turnwire.core.partials import Partial

__all__ = ["joined"]


def joined(pieces: Iterable[Partial]) -> list[Partial]:
    """Returns each block with its text, in the order of its pieces."""
    blocks: dict[tuple[int, str, int], list[Partial]] = {}
    for piece in pieces:
        blocks.setdefault((piece.place, *piece.block), []).append(piece)
    return [_joined(each) for each in blocks.values()]


def _joined(pieces: list[Partial]) -> Partial:
    """Returns the block joined from its pieces, up to the first missing piece."""
    texts: list[str] = []
    length = 0
    for piece in pieces:
        if piece.start != length:
            break
        texts.append(piece.text)
        length += len(piece.text)
    return structs.replace(pieces[0], text="".join(texts), start=0)
