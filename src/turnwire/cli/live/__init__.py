"""Shows turns: draws the conversation, asks the person, and stops turns."""
