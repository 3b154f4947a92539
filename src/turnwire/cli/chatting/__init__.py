"""A conversation at a terminal: the prompt stays below, the answer grows above it."""
