"""`turnwire answer`: answers a question or a permission, then shows the turn until it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.completing import complete_id
from turnwire.cli.conversations import find
from turnwire.cli.home import Home, run_async
from turnwire.cli.options import typed
from turnwire.cli.remote import client_of, come_in
from turnwire.cli.server_options import find_there, items_there, where_options
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.cli.live.ask import Decision
    from turnwire.cli.live.conversing import Conversing
    from turnwire.cli.live.session import Session
    from turnwire.core.status import OpenRequest, TurnEnd
    from turnwire.ports import ConversationRow, InboxItem, Store

__all__ = ["command"]

_REASON = "--reason needs --deny, or n as the ANSWER."


@click.command("answer")
@click.option("--question-id", metavar="ID", help="The request to answer, if several are open.")
@click.option("--allow", "decision", flag_value="allow", help="Allow the tool call.")
@click.option("--deny", "decision", flag_value="deny", help="Deny the tool call.")
@click.option(
    "--reason",
    metavar="WORDS",
    callback=typed,
    help="With --deny or n: the reason, which is sent to the agent.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print every frame of protocol v2 as a JSON line."
)
@where_options
@click.argument("given_id", metavar="ID", shell_complete=complete_id)
@click.argument("answer", required=False, callback=typed)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    home: Home,
    given_id: str,
    answer: str | None,
    question_id: str | None,
    decision: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Answer an open question or permission.

    ID is the id of a conversation or of an inbox item; its first characters are enough.

    \b
    ANSWER for a question: the number or name of an option, or your own words
    ... several options:   a list with commas, or a JSON list
    ... several questions: a JSON object
    ... a permission:      y, n, "n REASON" or a (always)

    Without ANSWER, --allow or --deny, the command asks you. Then the turn continues: on the server
    if one runs and has the agent, otherwise in this process. Output and exit codes are those of
    `turnwire run`.
    """
    if decision is not None and answer is not None:
        raise click.UsageError("Give either an ANSWER or --allow or --deny, not both.")
    if reason is not None and decision != "deny" and answer is None:
        raise click.UsageError(_REASON)
    given = _Given(answer, question_id, decision, reason)
    ctx.exit(run_async(_answer(home, given_id, given, as_json)))


class _Given:
    """The arguments of the command line."""

    def __init__(
        self, answer: str | None, which: str | None, decision: str | None, reason: str | None
    ) -> None:
        self.answer = answer
        self.which = which
        self.decision = decision
        self.reason = reason

    def meant(self, inbox: list[InboxItem], given_id: str) -> str:
        """Returns the id of the conversation. For an inbox item, also selects its request."""
        items = [each for each in inbox if each.inbox_item_id.startswith(given_id)]
        if not given_id or len(items) != 1:
            return given_id
        self.which = items[0].request.request_id
        return items[0].conversation_id

    def request(self, waiting: list[OpenRequest], talk: Conversing, home: Home) -> OpenRequest:
        """Returns the open request to answer. Raises TurnwireError if the choice is not unique."""
        go_on = home.command("run" if talk.is_here else "chat", "--conversation", talk.id)
        if not waiting:
            raise TurnwireError(f"no request is open in this conversation. Go on with: {go_on}")
        fitting = [r for r in waiting if self.which in (None, r.request_id)]
        if not fitting:
            ids = ", ".join(r.request_id for r in waiting)
            which = plain(self.which or "")
            raise TurnwireError(f"no open request has the id {which!r}. Name one of: {ids}")
        is_given = self.answer is not None or self.decision is not None
        if is_given and len(fitting) > 1:
            ids = ", ".join(r.request_id for r in fitting)
            raise TurnwireError(f"several requests are open. Name one with --question-id: {ids}")
        return fitting[0]

    def _with_reason(self, decision: Decision) -> Decision:
        if self.reason is None:
            return decision
        if decision.decision != "deny":
            raise click.UsageError(_REASON)
        from msgspec import structs

        words = [each for each in (decision.reason, self.reason) if each]
        return structs.replace(decision, reason=" ".join(words))

    def reply(self, request: OpenRequest) -> Any:
        """Returns the answer or decision to send. Returns None if the person has to be asked."""
        from turnwire.cli.live.ask import Decision, read_decision
        from turnwire.cli.live.requests import NotUnderstood, read_given

        if request.kind == "permission":
            if self.answer is not None:
                decision = read_decision(request, self.answer)
                if decision is None:
                    always = ", a (always)" if request.suggestions else ""
                    raise TurnwireError(
                        f"this is a permission. Answer it with y (allow), n (deny){always},"
                        " or with --allow or --deny."
                    )
                return self._with_reason(decision)
            if self.decision is None:
                return None
            return Decision("allow" if self.decision == "allow" else "deny", self.reason)
        if self.decision is not None or self.reason is not None:
            raise TurnwireError("this is a question. Answer it in words: turnwire answer ID ANSWER")
        if self.answer is None:
            return None
        if request.required and not self.answer.strip():
            raise TurnwireError("the answer is empty. Give words, or the number of an option.")
        try:
            return read_given(request.questions, self.answer)
        except NotUnderstood as problem:
            raise TurnwireError(str(problem)) from None


async def _answer(home: Home, given_id: str, given: _Given, as_json: bool) -> int:
    from turnwire.cli.live.view import open_view
    from turnwire.cli.live.visit import visit

    async with _come_in(home, given_id, given) as (talk, waiting):
        request = given.request(waiting, talk, home)
        reply = given.reply(request)
        with open_view(as_json=as_json) as view:

            async def work(session: Session) -> TurnEnd | None:
                if reply is not None:
                    view.status("Working")
                    await session.give(request, reply)
                turn_id = request.turn_id
                return None if turn_id is None else await session.see(turn_id)

            return await visit(talk, view, home, work)


@asynccontextmanager
async def _come_in(
    home: Home, given_id: str, given: _Given
) -> AsyncIterator[tuple[Conversing, list[OpenRequest]]]:
    """Opens the conversation in the process that runs it. Yields it with its open requests."""
    if home.far is not None:
        async with _come_in_there(home, given_id, given) as came:
            yield came
        return
    async with home.store() as store:
        row = await _find(store, given_id, given, home)
        async with come_in(home, store, row) as (talk, waiting):
            _check_alive(row.state.requests, waiting, talk.id, home)
            yield talk, waiting


@asynccontextmanager
async def _come_in_there(
    home: Home, given_id: str, given: _Given
) -> AsyncIterator[tuple[Conversing, list[OpenRequest]]]:
    from turnwire.cli.live.there import There

    client = client_of(home)
    row = await find_there(client, given.meant(await items_there(client), given_id))
    async with client.conversation(row.id, last_sequence=row.head) as talk:
        yield There(row.id, talk), row.requests


async def _find(store: Store, given_id: str, given: _Given, home: Home) -> ConversationRow:
    """Returns the stored conversation that the id on the command line names."""
    return await find(store, given.meant(await store.inbox(), given_id), home)


def _check_alive(
    before: list[OpenRequest], now: list[OpenRequest], talk_id: str, home: Home
) -> None:
    """Raises TurnwireError if a permission was lost with its process: its call cannot run any more."""
    if not now and any(request.kind == "permission" for request in before):
        again = home.command("run", "--conversation", talk_id, "please try again")
        raise TurnwireError(
            "the permission is not open any more: the process that asked for it has ended, and its "
            f"tool call is lost. Let the agent ask again: {again}"
        )
