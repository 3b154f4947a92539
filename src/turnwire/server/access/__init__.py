"""Access control: authentication, tokens, hosts and origins, limits, and the isolation of agents."""
