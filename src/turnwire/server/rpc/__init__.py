"""The RPC protocol: the same conversations, for front ends that use messages of Claude's SDK."""
