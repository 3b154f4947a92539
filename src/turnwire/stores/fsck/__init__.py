"""fsck: finds damage in a log, reports it, and repairs it without inventing content.

The rules know nothing of a database. Each store has a package `fsck` that reads and writes for them.
"""

from turnwire.stores.fsck.finding import KINDS, Finding, Kind
from turnwire.stores.fsck.run import Report

__all__ = ["KINDS", "Finding", "Kind", "Report"]
