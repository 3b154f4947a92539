"""Compares the content of a message with the content that its client sent."""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.core.content import Content, OtherContent, TextContent

__all__ = ["same_content"]


def same_content(sent: str | Sequence[Content], told: list[Content]) -> bool:
    """Returns whether they are equal. The server may add metadata, and move content to a blob."""
    parts = [TextContent(sent)] if isinstance(sent, str) else sent
    return len(parts) == len(told) and all(map(_same, parts, told))


def _same(sent: Content, told: Content) -> bool:
    if sent.__struct_config__.tag != told.__struct_config__.tag:
        return False
    if isinstance(sent, OtherContent) or isinstance(told, OtherContent):
        return sent == told
    if sent.blob is None and told.blob is not None:
        return True  # the server moved the content into the blob
    if sent.blob is not None and (told.blob is None or told.blob.blob_id != sent.blob.blob_id):
        return False
    own = _servers_own(sent)
    values = {name: getattr(sent, name) for name in sent.__struct_fields__ if name not in own}
    return all(value in (None, getattr(told, name)) for name, value in values.items())


def _servers_own(sent: Content) -> set[str]:
    """Returns the fields that the server sets itself, because it has the bytes."""
    has_bytes = getattr(sent, "blob", None) is not None or getattr(sent, "data", None) is not None
    return {"blob", "mime_type", "size"} if has_bytes else {"blob"}
