"""Runs one conversation: takes its inputs in order, commits each step, publishes it, and runs the agent."""
