"""The Claude Code program: finds it, starts it, and exchanges lines with it."""
