"""Front ends of AG-UI: `HttpAgent` and everything that is built on it."""
