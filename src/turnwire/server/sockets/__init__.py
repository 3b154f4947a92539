"""WebSockets: connecting, the frames that a client is sent, and the commands that it sends."""
