"""The RPC message format: messages as Claude's own SDK shapes them, for front ends."""

from turnwire.dialects.rpc.bridge import RpcBridge, ToolProgressMode
from turnwire.dialects.rpc.fold import Transcript
from turnwire.dialects.rpc.messages import RpcMessage, decode, encode

__all__ = ["RpcBridge", "RpcMessage", "ToolProgressMode", "Transcript", "decode", "encode"]
