"""The RPC message format: messages in the shape of Claude's own SDK, for front ends."""

from turnwire.dialects.rpc.bridge import RpcBridge
from turnwire.dialects.rpc.fold import Transcript
from turnwire.dialects.rpc.messages import RpcMessage, ToolProgressMode, decode, encode

__all__ = ["RpcBridge", "RpcMessage", "ToolProgressMode", "Transcript", "decode", "encode"]
