"""The RPC protocol: the same conversations, for front ends that use the messages of Claude's SDK."""
