"""The program of Claude Code: what is installed, how it is started, and the lines it writes and reads."""
