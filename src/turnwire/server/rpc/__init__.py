"""The RPC door: the same conversations, for front ends that speak the messages of Claude's SDK."""

from turnwire.server.rpc.connection import RpcConnection

__all__ = ["RpcConnection"]
