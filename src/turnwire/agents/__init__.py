"""The agents, which implement the agent port, and their processes. `registry` has their names."""
