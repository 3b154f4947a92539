"""Content blocks of the Agent Client Protocol: what prompts, messages and tool calls consist of."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from turnwire.core.lenient import Unknown

__all__ = [
    "AcpContent",
    "AudioContent",
    "ContentItem",
    "Diff",
    "EmbeddedResource",
    "ImageContent",
    "ResourceLink",
    "TerminalRef",
    "TextContent",
    "ToolContent",
    "UnknownContent",
    "UnknownToolContent",
]


class _Content(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", gc=False):
    pass


class TextContent(_Content, frozen=True, tag="text"):
    """Text, in Markdown."""

    text: str
    annotations: Any = None


class ImageContent(_Content, frozen=True, tag="image"):
    """An image."""

    data: str  # base64
    mime_type: str
    uri: str | None = None
    annotations: Any = None


class AudioContent(_Content, frozen=True, tag="audio"):
    """Sound."""

    data: str  # base64
    mime_type: str
    annotations: Any = None


class ResourceLink(_Content, frozen=True, tag="resource_link"):
    """A file or another resource that the agent can read by itself."""

    uri: str
    name: str
    mime_type: str | None = None
    title: str | None = None
    description: str | None = None
    size: int | None = None  # bytes
    annotations: Any = None


class EmbeddedResource(_Content, frozen=True, tag="resource"):
    """A resource with its content: `{uri, text}` or `{uri, blob}`."""

    resource: dict[str, Any]
    annotations: Any = None


class UnknownContent(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """Content of a type that this version does not know."""

    keeps_whole = True


AcpContent: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent
)


# --- what a tool call shows -----------------------------------------------------------------------


class ContentItem(_Content, frozen=True, tag="content"):
    """Content that the tool has produced."""

    content: AcpContent


class Diff(_Content, frozen=True, tag="diff"):
    """A change of one file."""

    path: str
    new_text: str
    old_text: str | UnsetType | None = UNSET  # null: a new file


class TerminalRef(_Content, frozen=True, tag="terminal"):
    """The live output of a terminal."""

    terminal_id: str


class UnknownToolContent(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """Content of a tool call of a type that this version does not know."""

    keeps_whole = True


ToolContent: TypeAlias = ContentItem | Diff | TerminalRef | UnknownToolContent
