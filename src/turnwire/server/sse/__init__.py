"""Server-sent events: follows a conversation in the response of an HTTP request."""
