"""The screen of `turnwire chat`: a prompt at the bottom, and the conversation above it."""
