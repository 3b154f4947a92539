"""The network server: TCP connections, HTTP with deadlines, WebSockets, and the server process."""
