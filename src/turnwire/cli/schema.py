"""`turnwire schema`: the JSON Schema of every public vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from turnwire.cli.vocabularies import schemas

__all__ = ["command", "written"]


@click.command("schema")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write DIR/NAME.schema.json instead of printing.",
)
def command(*, out: Path | None) -> None:
    """Print or write the JSON Schema of every vocabulary.

    Without --out, one JSON object on standard output with a schema under each name: blocks,
    claude, deltas, events, messages, rpc, ui.
    """
    if out is None:
        click.echo(_pretty(schemas()), nl=False)
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, content in written().items():
        (out / name).write_bytes(content)
        click.echo(out / name)


def written() -> dict[str, bytes]:
    """Each schema as a file: its name and what is in it."""
    return {f"{name}.schema.json": _pretty(schema) for name, schema in schemas().items()}


def _pretty(value: Any) -> bytes:
    # Sorted, so that a change of the types is a small change of the file.
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
