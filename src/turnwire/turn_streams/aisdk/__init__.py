"""A turn as a UI message stream of the AI SDK."""
