"""Formats text, tables and progress bars for the terminal."""
