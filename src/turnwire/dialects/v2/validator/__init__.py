"""Validates a recorded session against protocol v2, independently of the code that makes frames."""
