"""Options of a conversation with Claude: their types, their validation, and changes while it runs."""
