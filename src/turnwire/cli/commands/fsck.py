"""`turnwire fsck`: checks the database for damage, and repairs it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.conversations import has_died
from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.terminal.words import counted, plain

if TYPE_CHECKING:
    from turnwire.stores.fsck import Finding, Report

__all__ = ["command"]


@click.command("fsck")
@click.option("--repair", is_flag=True, help="Repair what can be repaired.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per finding.")
@data_dir_option
@click.pass_context
def command(ctx: click.Context, *, home: Home, repair: bool, as_json: bool) -> None:
    """Look for damage in the log, and repair it.

    Prints each finding with its place, and what --repair would do about it. A server may use the log
    meanwhile; a conversation that a process owns is not repaired. Make a backup before you repair.

    Exit code: 0 no damage, or all of it is repaired; 1 damage is left; 2 the check could not run.
    """
    if not home.address and not home.database.exists():
        if not as_json:
            click.echo(f"There are no conversations in {home.path} yet, so nothing was checked.")
        return
    report = _check(home, repair, hidden=as_json)
    if as_json:
        import msgspec

        for finding in report.findings:
            click.echo(msgspec.json.encode(facts(finding)))
    else:
        _print(report, home, repair)
    ctx.exit(1 if report.left else 0)


def _check(home: Home, repair: bool, *, hidden: bool) -> Report:
    from turnwire.cli.terminal.progress import counting_of_total

    with counting_of_total("checking", hidden=hidden) as count:
        if home.address:
            from turnwire.stores.open_store import need_postgres

            need_postgres()
            from turnwire.stores.postgres.fsck import check as check_database

            return run_async(
                check_database(
                    home.address,
                    repair=repair,
                    has_died=has_died,
                    progress=count,
                )
            )
        from turnwire.stores.sqlite.fsck import check

        now = time.time_ns() // 1_000_000
        return check(home.database, now=now, repair=repair, has_died=has_died, progress=count)


def facts(finding: Finding) -> dict[str, Any]:
    """Returns a finding as the fields of its JSON line."""
    return {
        "kind": finding.kind,
        "conversation_id": finding.conversation_id,
        "place": finding.place,
        "what": finding.what,
        "repair": finding.repair,
        "repaired": finding.repaired,
        "left": finding.left,
    }


def _print(report: Report, home: Home, repair: bool) -> None:
    from rich.text import Text

    from turnwire.cli.terminal.table import Page

    page = Page()
    everything = "the database" if home.address else "the file"
    for finding in report.findings:
        where = [plain(each) for each in (finding.conversation_id, finding.place) if each]
        head = Text.assemble((finding.kind, "bold"), "  ", "  ".join(where) or everything)
        page.words(Text.assemble(head, "  ", plain(finding.what)))
        page.words(_done(finding, repair), 2)
    entries = counted(report.entries, "entry", "entries")
    looked = f"{counted(report.conversations, 'conversation')}, {entries}"
    left = len(report.left)
    if not report.findings:
        page.line(f"No damage: {looked}.")
    elif not left:
        page.line(f"{looked}. {counted(len(report.findings), 'finding')}, all repaired.")
    elif repair:
        page.line(f"{looked}. {counted(left, 'finding')} could not be repaired.")
    else:
        page.line(f"{looked}. {counted(left, 'finding')}.")
        if home.address and any(finding.kind == "schema_old" for finding in report.findings):
            # `turnwire backup` reads the tables of this version only.
            page.line("Make a backup: pg_dump, with the address of the database")
        else:
            page.line(f"Make a backup: {home.command('backup', 'FILE')}")
        page.line(f"Then repair:   {home.command('fsck', '--repair')}")


def _done(finding: Finding, repair: bool) -> Any:
    from rich.text import Text

    if finding.repaired:
        return Text.assemble(("repaired", "green"), f"  {finding.repair}")
    if repair:
        return Text.assemble(("left", "red"), f"  {finding.left or finding.repair}")
    return Text.assemble(("repair", "dim"), f"  {finding.repair}")
