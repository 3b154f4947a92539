"""Decides which process runs a conversation: claims, leases, owners, and recovery after a crash."""
