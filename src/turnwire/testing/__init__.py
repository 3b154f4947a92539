"""Checks and stand-ins for those who build on Turnwire: run `check_store` against a store of yours."""

from turnwire.testing.check_store import STORE_CHECKS, StoreBroken, check_store

__all__ = ["STORE_CHECKS", "StoreBroken", "check_store"]
