"""Hooks of mkdocs: what the site needs to show the same files as the repository host does.

- Headings get the same anchors as on GitHub, so that one link works in both places.
- Links to files outside of `docs`, such as source files, lead to the repository.
- Mermaid diagrams are left out: their script would come from another server. A table with the same
  content follows each of them.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

__all__ = ["on_config", "on_page_markdown", "slug"]

REPOSITORY = "https://github.com/turnwire/turnwire/blob/main/"
_LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")
_DIAGRAM = re.compile(r"^```mermaid\n.*?^```\n", re.MULTILINE | re.DOTALL)


def slug(heading: str, separator: str) -> str:
    """Returns the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: Any) -> Any:
    """Replaces the function that makes anchors: mkdocs cannot name one in plain YAML."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Returns a page without diagrams, and with links to the repository where links leave `docs`."""
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def outside(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        if path.startswith("docs/"):
            return match[0]
        return f"{match[1]}{REPOSITORY}{path}{match[3] or ''}{match[4]}"

    return _LINK.sub(outside, _DIAGRAM.sub("", markdown))
