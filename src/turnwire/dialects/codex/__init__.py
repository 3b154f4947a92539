"""Codex's app-server: its types, its lines, and their translation into normalized events."""

from turnwire.dialects.codex.adapter import CodexStreamAdapter
from turnwire.dialects.codex.lines import Line, decode

__all__ = ["CodexStreamAdapter", "Line", "decode"]
