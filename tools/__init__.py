"""Programs for those who work on Turnwire; none of them is part of the package."""
