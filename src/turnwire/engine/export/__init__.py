"""Exports a conversation as JSON lines or Markdown, and limits what an import may keep."""
