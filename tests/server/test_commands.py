"""Commands of a client on a real conversation: refusals and effects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import PATIENCE, Watcher
from turnwire.core import controls
from turnwire.core.conversation.effects import Ack
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.engine import Answer, Talk
from turnwire.ports import AgentSession, SessionStart
from turnwire.server.access.keys import Who
from turnwire.server.service import Service
from turnwire.server.sockets.commands import ack_of, carry_out, check_id, put_back, type_of
from turnwire.settings import Settings
from turnwire.testing.clock import ManualClock

AT = "2026-01-01T12:00:00.000Z"
OWNER, ANN = Who(None, "t-1"), Who("ann", "t-2")
QUOTA = 100_000
ROOM = 100  # of the quota, where a test has filled the rest


class AbleAgent(ScriptedAgent):
    """Can do everything that a frame can ask for."""

    def __init__(self, **able: Any) -> None:
        super().__init__()
        everything: dict[str, Any] = {
            "commands": [
                "session.control",
                "session.set_max_thinking_tokens",
                "session.set_model",
                "session.set_permission_mode",
                "user.rewind",
            ],
            "controls": ["mcp_reconnect"],
            "images": True,
            "models": ["big", "default"],
            "permission_modes": ["ask"],
            "owner_permission_modes": ["all"],
        }
        self.capabilities = structs.replace(self.capabilities, **{**everything, **able})
        self.asked_for: list[controls.Control] = []

    async def open(self, start: SessionStart) -> AgentSession:
        session = await super().open(start)
        assert isinstance(session, ScriptedSession)
        session.control = self.control  # type: ignore[method-assign]
        return session

    async def control(self, control: controls.Control) -> controls.ControlResult:
        self.asked_for.append(control)
        if isinstance(control, controls.RewindFiles):
            return controls.Rewound(["a", "b"], ["c"])
        return controls.Done()


class Scene:
    """A server without sockets, and a conversation of Ann's in it."""

    def __init__(self, service: Service, agent: AbleAgent, talk: Talk) -> None:
        self.service, self.agent, self.talk = service, agent, talk

    async def do(
        self, kind: str, own_id: str | None = None, who: Who = ANN, **payload: Any
    ) -> Answer:
        """Carries out a frame as it comes over the wire."""
        return await carry_out(frame(kind, own_id, **payload), self.talk, who, self.service)

    async def refused(self, kind: str, who: Who = ANN, **payload: Any) -> str:
        """The code of the refusal."""
        return (await self.refusal(kind, who=who, **payload)).code

    async def refusal(self, kind: str, who: Who = ANN, **payload: Any) -> Refused:
        with pytest.raises(Refused) as refused:
            await self.do(kind, who=who, **payload)
        return refused.value

    async def say(self, *content: dict[str, Any], who: Who = ANN) -> Answer:
        return await self.do("user.message", who=who, content=list(content))

    async def may_say(self, *content: dict[str, Any], who: Who = ANN) -> str:
        """`in`, or the code of the refusal."""
        try:
            await self.say(*content, who=who)
        except Refused as refused:
            return refused.code
        return "in"

    async def begun(self) -> ScriptedSession:
        """The session of a turn that has begun."""
        await self.do("user.message", content="hello")
        async with asyncio.timeout(PATIENCE):
            session = await self.agent.opened()
        session.begins()
        return session

    async def asked(self, ask: Callable[[ScriptedSession], None]) -> None:
        """Has the agent ask something in a turn."""
        session = await self.begun()
        async with Watcher(self.talk) as seen:
            ask(session)
            await seen.state("waiting_input")

    async def fill(self, left: int) -> None:
        """Has Ann store so much that this many bytes of her quota are left; none: too much."""
        kept = (await self.service.store.stored("ann")).bytes
        data = bytes(QUOTA - kept - left)
        await self.service.store.put_blob("filling", data, "text/plain", at=AT, user="ann")
        assert (await self.service.store.stored("ann")).bytes == QUOTA - left


def frame(kind: str, own_id: str | None = None, **payload: Any) -> c.ClientFrame:
    given = {"type": kind, "payload": payload}
    if own_id is not None:
        given["client_message_id"] = own_id
    command: c.ClientFrame = msgspec.convert(given, c.ClientFrame)
    return command


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def file(path: str) -> dict[str, Any]:
    return {"type": "file_ref", "path": path}


def picture(data: str = "AAAA") -> dict[str, Any]:
    return {"type": "image", "mime_type": "image/png", "data": data}


@asynccontextmanager
async def scene(
    path: Path, agent: AbleAgent | None = None, *, cwd: str | None = None, **settings: Any
) -> AsyncIterator[Scene]:
    agent = agent or AbleAgent()
    given = {"data_dir": str(path / "data"), "max_user_blob_bytes": QUOTA, **settings}
    chosen = Settings(on_disconnect="continue", made_agents={"scripted": agent}, **given)
    service = await Service.open(chosen, ManualClock())
    try:
        talk = await service.engine.create("scripted", user="ann", cwd=cwd)
        yield Scene(service, agent, talk)
    finally:
        await service.close()


# --- refusals for all frames ----------------------------------------------------------------------


def test_a_clients_own_id_has_at_most_200_characters() -> None:
    check_id(None)
    check_id("x" * 200)
    with pytest.raises(Refused) as refused:
        check_id("x" * 201)
    assert refused.value.code == "INVALID_PAYLOAD"


async def test_an_own_id_that_is_too_long_is_refused_in_every_frame(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        with pytest.raises(Refused) as refused:
            await on.do("user.message", "x" * 201, content="hello")
        assert refused.value.code == "INVALID_PAYLOAD"


async def test_a_command_that_the_agent_does_not_offer_is_refused(tmp_path: Path) -> None:
    async with scene(tmp_path, AbleAgent(commands=[])) as on:
        asked: dict[str, Any] = {"session.set_model": {"model": "big"}, "session.heartbeat": {}}
        for kind, payload in asked.items():
            refused = await on.refusal(kind, **payload)
            assert (refused.code, refused.data["type"]) == ("NOT_SUPPORTED", kind)


async def test_a_command_that_no_conversation_knows_is_refused_even_if_the_agent_offers_it(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, AbleAgent(commands=["session.heartbeat"])) as on:
        refused = await on.refusal("session.heartbeat")
        assert (refused.code, refused.data["type"]) == ("NOT_SUPPORTED", "session.heartbeat")


# --- effects of each frame ------------------------------------------------------------------------


async def test_a_message_starts_a_turn_and_the_same_one_again_is_a_duplicate(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as on:
        first = await on.do("user.message", "m-1", content="hello")
        again = await on.do("user.message", "m-1", content="hello")
        assert (first.ack.turn_id, first.duplicate) == (1, False)
        assert (again.ack.turn_id, again.duplicate) == (1, True)
        [stored] = await on.service.store.entries(on.talk.id)
        assert "hello" in str(stored.entry.parts)


async def test_a_question_is_answered(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await on.asked(ScriptedSession.asks)
        [request] = (await on.talk.status()).requests
        given: dict[str, Any] = {"question_id": request.request_id, "answer": "blue"}
        assert (await on.do("user.input_response", "a-1", **given)).ack.request_id is not None
        assert (await on.do("user.input_response", "a-1", **given)).duplicate
        assert (await on.talk.status()).requests == []


async def test_a_permission_is_given(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await on.asked(ScriptedSession.wants)
        [request] = (await on.talk.status()).requests
        given: dict[str, Any] = {"request_id": request.request_id, "decision": "allow"}
        assert (await on.do("user.permission_response", "p-1", **given)).ack.request_id is not None
        assert (await on.do("user.permission_response", "p-1", **given)).duplicate
        assert (await on.talk.status()).requests == []


async def test_a_turn_is_stopped(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await on.begun()
        stopped = await on.do("user.interrupt", turn_id=1)
        assert (stopped.ack.turn_id, stopped.ack.outcome) == (1, "requested")


async def test_the_queue_is_changed(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await on.begun()
        waits = (await on.do("user.message", content="second")).ack.queue_id
        given: dict[str, Any] = {"action": "replace", "queue_id": waits}
        for content in ("another", [text("another")]):
            assert (await on.do("user.queue", content=content, **given)).ack.queue_id == waits
            [item] = (await on.talk.status()).queue
            assert "another" in str(item.content)
        secret = [file("/etc/passwd")]
        assert await on.refused("user.queue", content=secret, **given) == "FORBIDDEN"
        assert (await on.do("user.queue", action="remove", queue_id=waits)).ack.queue_id == waits
        assert (await on.talk.status()).queue == []


async def test_a_rewind_restores_files(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        session = await on.begun()
        async with Watcher(on.talk) as seen:
            session.ends()
            await seen.state("active")
        answer = await on.do("user.rewind", message_sequence=1, dry_run=True)
        assert (answer.ack.files, answer.ack.failed) == (["a", "b"], ["c"])
        [control] = on.agent.asked_for
        assert isinstance(control, controls.RewindFiles)
        assert control.dry_run


async def test_the_model_the_mode_and_the_thinking_are_chosen(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        assert (await on.do("session.set_model", model="big")).ack.model == "big"
        assert (await on.do("session.set_permission_mode", mode="ask")).ack.mode == "ask"
        thinking = await on.do("session.set_max_thinking_tokens", max_thinking_tokens=7)
        assert thinking.ack.max_thinking_tokens == 7


async def test_only_the_owner_of_the_data_chooses_a_mode_that_is_theirs(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        assert await on.refused("session.set_permission_mode", mode="all") == "FORBIDDEN"
        chosen = await on.do("session.set_permission_mode", who=OWNER, mode="all")
        assert chosen.ack.mode == "all"


async def test_a_control_is_asked_of_the_agent(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        answer = await on.do("session.control", control="mcp_reconnect", server="files")
        assert answer.ack.result == controls.Done()
        assert on.agent.asked_for == [controls.McpReconnect("files")]


# --- the quota of a user --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda size: "x" * size,
        lambda size: [text("x" * size)],
        lambda size: [text("x" * (size - 40)), text("x" * 40)],
        lambda size: [picture("A" * (size - size % 4)), text("x" * (size % 4))],
        lambda size: [file("x" * (size - 30)), file("y" * 30)],
    ],
    ids=["words", "text", "texts", "picture", "files"],
)
async def test_a_message_may_be_as_large_as_the_rest_of_the_quota(
    tmp_path: Path, make: Callable[[int], Any]
) -> None:
    async with scene(tmp_path, roots=[str(tmp_path)]) as on:
        await on.fill(ROOM)
        assert await on.refused("user.message", content=make(ROOM + 1)) == "PAYLOAD_TOO_LARGE"
        assert (await on.do("user.message", content=make(ROOM))).ack.turn_id == 1


async def test_a_picture_that_is_stored_already_needs_no_room(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await on.service.store.put_blob("p", bytes(500), "image/png", at=AT, user="ann")
        await on.fill(0)
        assert await on.may_say({"type": "image", "blob": {"blob_id": "p"}}) == "in"


async def test_a_user_over_the_quota_may_not_even_answer(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        await on.fill(-1)
        asked: dict[str, Any] = {
            "user.input_response": {"question_id": "q", "answer": "blue"},
            "user.permission_response": {"request_id": "p", "decision": "deny"},
            "user.message": {"content": "x"},
        }
        for kind, payload in asked.items():
            assert await on.refused(kind, **payload) == "PAYLOAD_TOO_LARGE"
        assert (await on.do("user.message", who=OWNER, content="x")).ack.turn_id == 1


# --- references of a message ----------------------------------------------------------------------


async def test_pictures_are_only_for_agents_that_take_them(tmp_path: Path) -> None:
    async with scene(tmp_path, AbleAgent(images=False)) as on:
        refused = await on.refusal("user.message", content=[text("see"), picture()])
        assert (refused.code, refused.data["type"]) == ("NOT_SUPPORTED", "user.message")
        assert await on.may_say(text("see")) == "in"
    async with scene(tmp_path / "other") as on:
        assert await on.may_say(text("see"), picture()) == "in"


async def test_files_are_only_for_agents_that_take_their_type(tmp_path: Path) -> None:
    sent = {**file("report.pdf"), "blob": {"blob_id": "pdf"}}
    for at, (files, said) in enumerate(
        [
            (
                [],
                "The agent scripted cannot read 'report.pdf' (application/pdf). It takes no files.",
            ),
            (["text/*", "image/svg+xml"], "It takes text/*, image/svg+xml."),
        ]
    ):
        async with scene(tmp_path / str(at), AbleAgent(files=files)) as on:
            await on.service.store.put_blob("pdf", b"x", "application/pdf", at=AT, user="ann")
            refused = await on.refusal("user.message", content=[sent])
            assert (refused.code, refused.data["type"]) == ("NOT_SUPPORTED", "user.message")
            assert said in refused.message
    for able in (
        {"files": ["application/pdf"]},
        {"files": ["application/*"]},
        {"reads_files": True},
    ):
        async with scene(tmp_path / str(able), AbleAgent(**able)) as on:
            await on.service.store.put_blob("pdf", b"x", "application/pdf", at=AT, user="ann")
            assert await on.may_say(sent) == "in"


async def test_the_pictures_and_files_of_a_message_have_a_limit(tmp_path: Path) -> None:
    async with scene(tmp_path, AbleAgent(files=["*/*"]), max_message_blob_bytes=10) as on:
        await on.service.store.put_blob("pdf", b"123456", "application/pdf", at=AT, user="ann")
        sent = {**file("report.pdf"), "blob": {"blob_id": "pdf"}}
        refused = await on.refusal("user.message", content=[sent, sent])
        assert refused.code == "PAYLOAD_TOO_LARGE"
        assert "have 12 bytes; at most 10 are allowed (max_message_blob_bytes)" in refused.message
        assert await on.may_say(sent) == "in"
        hidden = {**sent, "path": "/etc/passwd"}
        assert await on.may_say(hidden) == "FORBIDDEN", "a path stays a path"


async def test_a_message_refers_only_to_blobs_that_its_sender_may_see(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        for user in ("ann", "bob"):
            await on.service.store.put_blob(f"{user}s", b"x", "text/plain", at=AT, user=user)
        for blob_id, said in (
            ("anns", "in"),
            ("bobs", "INVALID_PAYLOAD"),
            ("none", "INVALID_PAYLOAD"),
        ):
            assert await on.may_say({**text("see"), "blob": {"blob_id": blob_id}}) == said


@pytest.fixture
def roots(tmp_path: Path) -> list[str]:
    """Two directories in which agents may work."""
    made = [tmp_path / "one", tmp_path / "two" / "deep"]
    for each in made:
        each.mkdir(parents=True)
    (made[0] / "link").symlink_to("/etc")
    (made[0] / "circle").symlink_to(made[0] / "circle")
    return [str(each) for each in made]


async def test_a_message_names_only_files_below_the_directories_of_agents(
    tmp_path: Path, roots: list[str]
) -> None:
    async with scene(tmp_path, roots=roots) as on:
        for path, said in (
            ("notes.txt", "in"),
            (f"{roots[0]}/notes.txt", "in"),
            (f"{roots[1]}/notes.txt", "in"),
            ("../two/deep/notes.txt", "in"),  # of the first one
            ("../notes.txt", "FORBIDDEN"),
            (f"{roots[0]}-not/notes.txt", "FORBIDDEN"),
            ("/etc/passwd", "FORBIDDEN"),
            ("link/passwd", "FORBIDDEN"),
            ("a\0b", "INVALID_PAYLOAD"),
        ):
            assert await on.may_say(file(path)) == said, path
        assert await on.may_say(file("notes.txt"), file("/etc/passwd")) == "FORBIDDEN"


async def test_a_path_begins_in_the_directory_of_the_conversation(
    tmp_path: Path, roots: list[str]
) -> None:
    async with scene(tmp_path, roots=roots, cwd=roots[1]) as on:
        assert await on.may_say(file("notes.txt")) == "in"
        assert await on.may_say(file("../two/deep/notes.txt")) == "FORBIDDEN"
        assert await on.may_say(file("../../one/notes.txt")) == "in"


async def test_without_directories_for_agents_a_message_names_no_files(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        assert await on.may_say(file("notes.txt")) == "FORBIDDEN"
        assert await on.may_say(file(str(tmp_path))) == "FORBIDDEN"


def ends_somewhere(path: str) -> bool:
    """Later versions of Python do not follow links in a circle for ever, and do not mind them."""
    try:
        Path(path).resolve()
    except (OSError, RuntimeError):
        return False
    return True


async def test_links_in_a_circle_lead_nowhere(tmp_path: Path, roots: list[str]) -> None:
    async with scene(tmp_path, roots=roots) as on:
        expected = "in" if ends_somewhere(f"{roots[0]}/circle") else "INVALID_PAYLOAD"
        assert await on.may_say(file("circle/notes.txt")) == expected


async def test_paths_have_a_largest_length_each_and_together(
    tmp_path: Path, roots: list[str]
) -> None:
    async with scene(tmp_path, roots=roots, max_user_blob_bytes=10 * QUOTA) as on:
        name = "x" * 255 + "/"
        longest = file(name * 16)
        assert await on.may_say(longest) == "in"
        assert await on.may_say(file(name * 16 + "x")) == "INVALID_PAYLOAD"
        assert await on.may_say(*[longest] * 16) == "in"
        assert await on.may_say(*[longest] * 16, file("x")) == "INVALID_PAYLOAD"


# --- answers to the client ------------------------------------------------------------------------

FRAMES: dict[str, tuple[dict[str, Any], type[f.Frame]]] = {
    "user.message": ({"content": "hello"}, f.MessageAck),
    "user.input_response": ({"question_id": "q", "answer": "a"}, f.InputResponseAck),
    "user.permission_response": (
        {"request_id": "p", "decision": "allow"},
        f.PermissionResponseAck,
    ),
    "user.interrupt": ({"turn_id": 1}, f.InterruptAck),
    "user.queue": ({"action": "resume"}, f.QueueAck),
    "user.rewind": ({"message_sequence": 1}, f.RewindAck),
    "session.set_model": ({"model": "big"}, f.SetModelAck),
    "session.set_permission_mode": ({"mode": "ask"}, f.SetPermissionModeAck),
    "session.set_max_thinking_tokens": ({"max_thinking_tokens": 7}, f.SetMaxThinkingTokensAck),
    "session.control": ({"control": "mcp_status"}, f.ControlAck),
}


def accepted_in(told: f.Frame) -> p.Accepted:
    payload = getattr(told, "payload", None)
    assert isinstance(payload, p.Accepted)
    return payload


@pytest.mark.parametrize("kind", FRAMES)
def test_each_frame_has_its_own_answer(kind: str) -> None:
    payload, expected = FRAMES[kind]
    command = frame(kind, "m-1", **payload)
    assert type_of(command) == kind
    told = ack_of(command, Answer(Ack(turn_id=3), True), "talk", AT)
    assert type(told) is expected
    assert (told.conversation_id, told.timestamp) == ("talk", AT)
    payload_told = accepted_in(told)
    assert payload_told.client_message_id == "m-1"
    assert payload_told.turn_id == 3
    assert payload_told.duplicate is True
    assert payload_told.model == ("big" if kind == "session.set_model" else None)


def test_an_answer_has_all_known_fields() -> None:
    known: dict[str, Any] = {
        "turn_id": 3,
        "queue_id": "q-1",
        "held": True,
        "request_id": "r-1",
        "delivered_as": "resumed",
        "outcome": "requested",
        "mode": "ask",
        "max_thinking_tokens": 7,
        "files": ["a"],
        "failed": ["b"],
        "result": controls.Done(),
    }
    command = frame("user.message", content="hello")
    told = accepted_in(ack_of(command, Answer(Ack(**known)), "talk", AT))
    assert {name: getattr(told, name) for name in known} == known
    assert told.duplicate is False


def test_only_files_that_could_not_be_restored_are_named() -> None:
    assert put_back(Answer(Ack(files=["a"], failed=["b"]))) == {"files": ["a"], "failed": ["b"]}
    assert put_back(Answer(Ack(files=["a"], failed=[]))) == {"files": ["a"]}
    assert put_back(Answer(Ack(files=["a"]))) == {"files": ["a"]}
