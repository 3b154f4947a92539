"""Who may do what, and how much: authentication, tokens, origins, limits and shares."""
