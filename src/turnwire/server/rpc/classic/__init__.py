"""The profile `classic` of RPC: its own frames over the same calls, streams and requests."""
