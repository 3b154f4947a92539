"""The RPC door: the same conversations, for front ends that speak the messages of Claude's SDK."""
