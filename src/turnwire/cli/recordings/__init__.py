"""Reads, checks and summarizes recorded streams of an agent."""
