"""The Agent Client Protocol, version 1: JSON-RPC between a host and an agent, a message per line.

`decode` reads a line; `AcpStreamAdapter` turns lines into normalized events.
"""

from turnwire.dialects.acp.adapter import AcpStreamAdapter
from turnwire.dialects.acp.lines import Line, decode, encode, read
from turnwire.dialects.acp.messages import AcpMessage

__all__ = ["AcpMessage", "AcpStreamAdapter", "Line", "decode", "encode", "read"]
