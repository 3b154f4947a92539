"""The commands of `turnwire`, one module for each."""
