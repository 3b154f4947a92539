"""Invalid input for any protocol, and a server that must stand it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.server.helpers.servers import Process, process

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    2**63,
    10**400,
    1.5,
    "",
    "a",
    "\0",
    "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "漢" * 100,
    "x" * 10_000,
    [],
    {},
    [[[[]]]],
    {"type": "text", "text": "hello"},
    {"type": "image", "data": "not base64"},
    {"type": "file_ref", "path": "../../etc/passwd"},
    [{"type": "text", "text": "a", "blob": {"blob_id": "b"}}],
    {"a": {"a": {"a": {}}}},
]


def bent(frame: dict[str, Any], chance: random.Random) -> str | bytes:
    """Returns the frame unchanged, cut, or with other bytes in it; or other data."""
    dice = chance.random()
    if dice < 0.05:
        return chance.randbytes(chance.randrange(200))
    if dice < 0.1:
        return "".join(map(chr, (chance.randrange(1, 0xD7FF) for _ in range(chance.randrange(50)))))
    try:
        raw = msgspec.json.encode(frame).decode()
    except (ValueError, OverflowError, msgspec.MsgspecError):
        raw = repr(frame)
    if dice > 0.9:
        place = chance.randrange(len(raw))
        raw = raw[:place] + chance.choice(["", "\0", "{", '"', "\\ud800"]) + raw[place + 1 :]
    return raw


@contextmanager
def unmoved(path: Path) -> Iterator[Process]:
    """Runs a server without rate limits, and asserts at its end that it raised no unhandled error."""
    errors = path / "errors"
    kinds = ("FRAMES", "CONNECTS")
    limits = {f"TURNWIRE_{kind}_PER_SECOND": "1e6" for kind in kinds}
    limits |= {f"TURNWIRE_{kind}_AT_ONCE": "1000000" for kind in kinds}
    heard = f"import sys; sys.stderr = open({str(errors)!r}, 'w', buffering=1)"
    with process(path, port=0, first=heard, **limits) as server:
        yield server
        assert server.stop() == 0
    assert "Traceback" not in errors.read_text(), "nothing was unhandled"
