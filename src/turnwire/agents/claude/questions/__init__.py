"""Questions and permissions, from the program's request to the person's reply."""
