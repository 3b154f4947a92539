"""A conversation as a file: JSON lines and Markdown, and what an import may keep."""
