"""The protocol's own rules, checked in a recorded session: independent of what makes frames, as their proof."""
