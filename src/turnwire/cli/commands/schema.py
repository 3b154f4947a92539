"""`turnwire schema`: prints or writes the JSON Schema of every public vocabulary."""

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

    NAME is one of acp, blocks, claude, codex, deltas, events, messages, rpc, rpc-calls (the frames
    of an RPC client), rpc-frames (the frames of an RPC server), ui, v2 (the frames of the server),
    v2-client (the frames of a client), view. Without NAME and --out, prints one JSON object with all schemas by
    name.
    """
    known = schemas()
    if name is not None and name not in known:
        names = ", ".join(known)
        raise click.BadParameter(
            f"there is no schema {name!r}. Name one of {names}.", param_hint="NAME"
        )
    if out is None:
        click.echo(_pretty(known if name is None else known[name]), nl=False)
        return
    out.mkdir(parents=True, exist_ok=True)
    for file, content in written().items():
        if name is None or file == f"{name}.schema.json":
            (out / file).write_bytes(content)
            click.echo(out / file)


def written() -> dict[str, bytes]:
    """Returns the content of every schema file, by file name."""
    return {f"{name}.schema.json": _pretty(schema) for name, schema in schemas().items()}


def _pretty(value: Any) -> bytes:
    # Sorted keys keep the diff of a file small when a type changes.
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"
