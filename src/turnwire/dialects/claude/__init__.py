"""The stream-json format of Claude Code: messages, blocks, stream events, control requests.

`decode` reads a line; `ClaudeStreamAdapter` turns lines into normalized events.
"""

from turnwire.dialects.claude.adapter import ClaudeStreamAdapter
from turnwire.dialects.claude.lines import Line, decode, encode, read
from turnwire.dialects.claude.messages import ClaudeMessage

__all__ = ["ClaudeMessage", "ClaudeStreamAdapter", "Line", "decode", "encode", "read"]
