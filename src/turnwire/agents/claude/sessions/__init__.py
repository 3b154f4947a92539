"""Sessions that Claude Code keeps on disk: read, imported, forked and removed."""
