"""Claude Code's own session files: reads, imports, forks and removes them."""
