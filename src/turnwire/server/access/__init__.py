"""Access control: authentication, tokens, hosts and origins, limits, and isolation of agents."""
