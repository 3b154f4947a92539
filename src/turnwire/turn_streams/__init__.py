"""PURE: one turn as the stream of another protocol. Makes it of the frames of protocol v2."""
