"""The RPC message format: messages in the shape of Claude's own SDK, for front ends."""

from turnwire.dialects.rpc.bridge import RpcBridge
from turnwire.dialects.rpc.messages import RpcMessage, ToolProgressMode, decode, encode
from turnwire.dialects.rpc.view_reducer import Transcript

__all__ = ["RpcBridge", "RpcMessage", "ToolProgressMode", "Transcript", "decode", "encode"]
