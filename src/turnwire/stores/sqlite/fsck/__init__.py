"""fsck: finds damage in a log, reports it, and repairs it without inventing content."""

from turnwire.stores.sqlite.fsck.finding import KINDS, Finding, Kind
from turnwire.stores.sqlite.fsck.run import Report, check, entries_in

__all__ = ["KINDS", "Finding", "Kind", "Report", "check", "entries_in"]
