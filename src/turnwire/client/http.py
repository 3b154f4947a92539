"""The client of a server's HTTP interface."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from http.client import HTTPResponse
from typing import Any, Literal, Self
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener
from weakref import WeakSet

import msgspec

from turnwire.client.address import Unreachable, checked, is_local
from turnwire.client.conversation import ClientConversation, refusal
from turnwire.client.listing import ConversationInfo, RuleInfo
from turnwire.dialects.v2.payloads import Decision
from turnwire.errors import TurnwireError
from turnwire.ports import Activity, InboxItem

__all__ = ["Client"]

_PAGE = 100  # conversations of a list that are loaded together
_SECONDS = 30.0  # timeout of a request


class Client:
    """A client of one server, with one token."""

    def __init__(
        self, url: str, token: str, *, find: Callable[[], tuple[str, str] | None] | None = None
    ) -> None:
        """`url` is the address of the server, such as `http://127.0.0.1:7410`.

        `find` returns the server's current address and token; a server may restart at another
        address. Raises TurnwireError if the address or the token is malformed.
        """
        url, self._token = checked(url, token, "http", "https")
        self.url = url.rstrip("/")
        self._find = find
        # The conversations that the program still has a reference to.
        self._conversations: WeakSet[ClientConversation] = WeakSet()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Leaves every conversation. Calling it again is harmless."""
        for talk in list(self._conversations):
            await talk.close()

    def conversation(
        self,
        conversation_id: str,
        *,
        last_sequence: int = 0,
        epoch: str | None = None,
        tail: int | None = None,
    ) -> ClientConversation:
        """Returns a conversation to enter with `async with`. It starts after `last_sequence`."""
        path = f"/ws/conversations/{quote(conversation_id, safe='')}"

        def address(url: str) -> str:
            return f"ws{url.removeprefix('http')}{path}"

        def find() -> tuple[str, str] | None:
            place = self._find() if self._find is not None else None
            return None if place is None else (address(place[0]), place[1])

        talk = ClientConversation(
            address(self.url),
            self._token,
            last_sequence=last_sequence,
            epoch=epoch,
            tail=tail,
            find=find,
        )
        self._conversations.add(talk)
        return talk

    async def create(self, agent: str | None = None, **more: Any) -> str:
        """Creates a conversation and returns its id.

        `more`: `title`, `cwd`, `model`, `permission_mode`, `options`.
        """
        given = {"agent": agent, **more} if agent is not None else more
        begun = await self.request("POST", "/api/conversations", given)
        return str(begun["id"])

    async def fork(
        self, conversation_id: str, at_sequence: int | None = None, *, title: str | None = None
    ) -> str:
        """Creates a conversation that begins with this one's log, and returns its id.

        `at_sequence` is the last entry to copy; None means the newest entry at which a fork is
        possible. Raises TurnwireError; NOT_A_FORK_POINT names the nearest possible entries.
        """
        path = f"/api/conversations/{quote(conversation_id, safe='')}/fork"
        given = {"at_sequence": at_sequence, "title": title}
        wanted = {name: value for name, value in given.items() if value is not None}
        return str((await self.request("POST", path, wanted))["id"])

    async def conversations(
        self,
        *,
        archived: bool = False,
        agent: str | None = None,
        label: str | None = None,
        activity: Activity | None = None,
        pinned: bool = False,
    ) -> AsyncIterator[ConversationInfo]:
        """Yields the conversations that this user may see, the newest first, each once.

        Loads them in pages while the loop goes on. `archived` yields the archived ones instead. The
        others leave out more: `agent`, `label` and `activity` the conversations without them,
        `pinned` those that are not pinned.
        """
        given = {"agent": agent, "label": label, "activity": activity}
        query = {name: value for name, value in given.items() if value is not None}
        query |= {"archived": str(archived).lower()} | ({"pinned": "true"} if pinned else {})
        seen: set[str] = set()  # a conversation that moves to the front moves others to later pages
        offset = 0
        while True:
            answer = await self.request(
                "GET", "/api/conversations", limit=_PAGE, offset=offset, **query
            )
            page = msgspec.convert(answer["conversations"], list[ConversationInfo])
            for each in page:
                if each.id not in seen:
                    seen.add(each.id)
                    yield each
            offset += len(page)
            if len(page) < _PAGE:
                return

    async def rules(self, conversation_id: str | None = None) -> AsyncIterator[RuleInfo]:
        """Yields the remembered permission rules, the newest first.

        Those of one conversation, or of all conversations that this user may see.
        """
        if conversation_id is not None:
            answer = await self.request("GET", _rules_of(conversation_id))
            for rule in msgspec.convert(answer["rules"], list[RuleInfo]):
                yield rule
            return
        seen: set[tuple[str, str]] = set()  # a new rule moves others to later pages
        offset = 0
        while True:
            answer = await self.request("GET", "/api/rules", limit=_PAGE, offset=offset)
            page = msgspec.convert(answer["rules"], list[RuleInfo])
            for rule in page:
                name = rule.conversation_id, rule.rule_id
                if name not in seen:
                    seen.add(name)
                    yield rule
            offset += len(page)
            if len(page) < _PAGE:
                return

    async def forget_rule(self, conversation_id: str, rule_id: str) -> None:
        """Takes a rule back: the agent asks again. A rule that is gone changes nothing.

        Raises TurnwireError for a rule that the agent keeps in its own settings.
        """
        path = f"{_rules_of(conversation_id)}/{quote(rule_id, safe='')}"
        await self.request("DELETE", path)

    async def inbox(self) -> AsyncIterator[InboxItem]:
        """Yields the questions and permissions that wait for this user, the oldest first."""
        answer = await self.request("GET", "/api/inbox")
        for item in msgspec.convert(answer["items"], list[InboxItem]):
            yield item

    async def answer(
        self,
        inbox_item_id: str,
        answer: str | dict[str, str | list[str]],
        *,
        client_message_id: str | None = None,
    ) -> None:
        """Answers a question of the inbox. Raises Refused if it is not open any more.

        With the same `client_message_id`, the same answer can be sent again and counts once.
        """
        await self._reply(inbox_item_id, {"answer": answer}, client_message_id)

    async def decide(
        self,
        inbox_item_id: str,
        decision: Decision,
        *,
        reason: str | None = None,
        updated_input: Any = None,
        remember: list[Any] | None = None,
        client_message_id: str | None = None,
    ) -> None:
        """Allows or denies a permission of the inbox. Raises Refused if it is not open any more.

        `remember`: rules from the `suggestions` of its request, which allow later calls without
        asking. `updated_input`: what is to run instead.
        """
        given = {"reason": reason, "updated_input": updated_input, "remember": remember}
        more = {name: value for name, value in given.items() if value is not None}
        await self._reply(inbox_item_id, {"decision": decision, **more}, client_message_id)

    async def _reply(self, item_id: str, told: dict[str, Any], own_id: str | None) -> None:
        path = f"/api/inbox/{quote(item_id, safe='')}/answer"
        key = own_id or str(uuid.uuid4())
        await self.request("POST", path, {**told, "client_message_id": key})

    async def upload(self, data: bytes, media_type: str) -> str:
        """Uploads a picture or a file, and returns its blob id for `SentImage` and `SentFile`."""
        raw = await self._ask("POST", "/api/blobs", data, media_type)
        return str(self._read(raw)["blob_id"])

    async def export(
        self, conversation_id: str, to: Literal["jsonl", "markdown"] = "jsonl"
    ) -> bytes:
        """Returns a whole conversation as a file: JSON lines for import, or Markdown for people."""
        path = f"/api/conversations/{quote(conversation_id, safe='')}/export?format={to}"
        return await self._ask("GET", path)

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Sends any other request and returns the JSON of the response. Raises TurnwireError."""
        if query:
            path += f"?{urlencode(query)}"
        raw = None if body is None else msgspec.json.encode(body)
        return self._read(await self._ask(method, path, raw))

    def _read(self, raw: bytes) -> Any:
        try:
            return msgspec.json.decode(raw or b"null")
        except msgspec.DecodeError:
            said = f"The response of {self.url} is not JSON. Is a Turnwire server there?"
            raise Unreachable(said) from None

    async def _ask(
        self, method: str, path: str, raw: bytes | None = None, kind: str = "application/json"
    ) -> bytes:
        return await asyncio.to_thread(self._request, method, path, raw, kind)

    def _update_address(self) -> None:
        """Updates the address and the token of the server from `find`."""
        place = self._find() if self._find is not None else None
        if place is not None:
            url, self._token = checked(*place, "http", "https")
            self.url = url.rstrip("/")

    def _request(self, method: str, path: str, raw: bytes | None, kind: str) -> bytes:
        self._update_address()
        headers = {"Authorization": f"Bearer {self._token}"}
        if raw is not None:
            headers["Content-Type"] = kind
        request = Request(f"{self.url}{path}", raw, headers, method=method)
        opener = build_opener(ProxyHandler({})) if is_local(self.url) else build_opener()
        try:
            answer: HTTPResponse
            with opener.open(request, timeout=_SECONDS) as answer:
                return answer.read()
        except HTTPError as refused:
            raise _refused(refused.read(), refused.code) from None
        except OSError as failure:
            why = getattr(failure, "reason", failure)  # of urllib's own error
            said = getattr(why, "strerror", None) or why
            raise Unreachable(f"The server at {self.url} cannot be reached: {said}.") from None


def _refused(raw: bytes, status: int) -> TurnwireError:
    try:
        return refusal(msgspec.json.decode(raw)["error"])
    except (KeyError, TypeError, msgspec.DecodeError):
        return Unreachable(f"The server answered with {status}, and not as a Turnwire server does.")


def _rules_of(conversation_id: str) -> str:
    return f"/api/conversations/{quote(conversation_id, safe='')}/rules"
