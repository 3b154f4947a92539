"""Publishes what happens to the followers of a conversation, live and replayed."""
