"""Looks for damage in a log, says precisely what it is, and repairs it truthfully."""

from turnwire.stores.sqlite.fsck.finding import KINDS, Finding, Kind
from turnwire.stores.sqlite.fsck.run import Report, check, entries_in

__all__ = ["KINDS", "Finding", "Kind", "Report", "check", "entries_in"]
