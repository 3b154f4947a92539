"""The agents: programs that hold a conversation, behind one port. See `registry` for their names."""
