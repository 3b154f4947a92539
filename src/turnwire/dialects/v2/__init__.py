"""Conversation protocol v2: numbered frames that any number of clients can follow and resume."""
