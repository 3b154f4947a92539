"""Runs one conversation: takes inputs in order, commits and publishes steps, runs the agent."""
