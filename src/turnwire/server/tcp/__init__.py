"""Listens: TCP connections, HTTP on them with deadlines, and the process around it."""
