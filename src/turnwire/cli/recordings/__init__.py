"""Recorded streams: read, checked and summed up."""
