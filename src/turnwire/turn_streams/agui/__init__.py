"""A conversation as runs of AG-UI."""
