"""Redacts secrets in text that is stored or shown."""
