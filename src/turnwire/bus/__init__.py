"""Implementations of the bus, which notifies the followers of a conversation."""
