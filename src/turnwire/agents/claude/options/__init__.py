"""Options of a conversation with Claude: types, validation, and changes while it runs."""
