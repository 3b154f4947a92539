"""The agents that implement the agent port, and the processes they run in. `registry` has their names."""
