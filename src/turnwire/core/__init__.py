"""The pure core: no asyncio, no clock, no randomness, no files, no logging."""
