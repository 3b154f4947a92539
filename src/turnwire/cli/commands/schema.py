"""`turnwire schema`: the JSON Schema of every public vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from turnwire.cli.recordings.vocabularies import schemas

__all__ = ["command", "written"]


@click.command("schema")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write DIR/NAME.schema.json instead of printing.",
)
@click.argument("name", required=False)
def command(*, out: Path | None, name: str | None) -> None:
    """Print or write the JSON Schema of every vocabulary.

    NAME is one of blocks, claude, deltas, events, messages, rpc, rpc-calls (the frames of an RPC
    client), rpc-frames (those of its server), ui, v2 (the frames of the server), v2-client (those
    of a client), view. Without it and without --out, one JSON object on standard output with a
    schema under each name.
    """
    known = schemas()
    if name is not None and name not in known:
        names = ", ".join(known)
        raise click.BadParameter(f"there is no {name!r}. Name one of {names}.", param_hint="NAME")
    if out is None:
        click.echo(_pretty(known if name is None else known[name]), nl=False)
        return
    out.mkdir(parents=True, exist_ok=True)
    for file, content in written().items():
        if name is None or file == f"{name}.schema.json":
            (out / file).write_bytes(content)
            click.echo(out / file)


def written() -> dict[str, bytes]:
    """Each schema as a file: its name and what is in it."""
    return {f"{name}.schema.json": _pretty(schema) for name, schema in schemas().items()}


def _pretty(value: Any) -> bytes:
    # Sorted, so that a change of the types is a small change of the file.
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
