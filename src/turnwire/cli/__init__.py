"""The command line. A command imports its dependencies only when it runs, so that it starts fast."""
