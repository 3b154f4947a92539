"""WebSockets: who connects, what a connection is sent, and what it asks for."""
