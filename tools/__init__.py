"""Development tools for Turnwire; not part of the package."""
