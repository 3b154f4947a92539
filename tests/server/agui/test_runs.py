"""Front ends of AG-UI: runs, interrupts, reconnects, the history and what is refused."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pydantic_ai
import pytest
from pydantic_ai.models.test import TestModel

from tests.server.helpers.events import events_of
from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from tests.turn_streams.agui.helpers.judges import judged, package
from turnwire import AgentTurn, FunctionAgent
from turnwire.agents.acp import AcpAgent
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.codex import CodexAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.pydantic_ai import PydanticAgent
from turnwire.ports import Agent

Event = dict[str, Any]
Message = dict[str, Any]
SCENES = ["hello", "think", "use a tool", "make a plan", "a subagent", "a long answer"]
QUICK = {"agent": "demo", "options": {"delay": 0}}


def says(text: str, name: str = "m-1") -> Message:
    return {"id": name, "role": "user", "content": text}


def body(*messages: Message, thread: str = "thread-1", **more: Any) -> dict[str, Any]:
    props = {"turnwire": more.pop("turnwire", QUICK)}
    ids = {"threadId": thread, "runId": "run-1", "protocolVersion": "1.0"}
    rest = {"tools": [], "context": [], "state": {"mine": 1}, "forwardedProps": props}
    return {**ids, "messages": [*messages], **rest, **more}


async def ran(http: httpx.AsyncClient, sent: dict[str, Any]) -> list[Event]:
    """Returns the events of a run."""
    async with events_of(http, "POST", "/agui", json=sent) as stream:
        events = [data for _, data in await stream.all()]
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    return events


async def connected(http: httpx.AsyncClient, thread: str = "thread-1", **more: Any) -> list[Event]:
    """Returns the events of a client that connects."""
    async with events_of(http, "GET", f"/agui/threads/{thread}/stream", **more) as stream:
        return [data for _, data in await stream.all()]


async def history(http: httpx.AsyncClient, thread: str = "thread-1") -> list[Message]:
    told: list[Message] = (await http.get(f"/agui/threads/{thread}/messages")).json()["messages"]
    return told


async def judge(*runs: dict[str, Any]) -> Any:
    """Returns what a client of the package has after its runs."""
    [told] = await asyncio.to_thread(judged, [list(runs)])
    assert told["errors"] == []
    assert told["warnings"] == []
    return told


def kinds(events: list[Event]) -> list[str]:
    return [event["type"] for event in events]


def test_the_client_has_the_history_after_every_scene(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        runs: list[dict[str, Any]] = []
        said: list[Message] = []
        told: Any = None
        for number, words in enumerate(SCENES, 1):
            new = says(words, f"m-{number}")
            events = await ran(http, body(*said, new))
            assert "MESSAGES_SNAPSHOT" not in kinds(events), "the client was in step"
            runs.append({"messages": [new], "events": events})
            told = await judge(*runs)
            said = [each for each in told["messages"] if each["role"] != "activity"]
            assert told["messages"] == await history(http)
            assert told["state"]["mine"] == 1
            assert told["state"]["turnwire"]["state"] == "active"
        again = await ran(http, body(*said[:1]))
        assert kinds(again)[1:3] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
        assert len(again[2]["messages"]) == len(told["messages"]), "a message is taken once"

    play(tmp_path, scene)


def test_a_client_that_lacks_something_gets_all_messages(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("hello")))
        other = await ran(http, body(says("think", "m-2")))
        strange = {"id": "x", "role": "assistant", "content": "I have never said this."}
        third = await ran(http, body(says("hello"), strange, says("hello", "m-3")))
        said = [each for each in await history(http) if each["role"] != "activity"]
        fourth = await ran(http, body(*said, strange, says("hello", "m-4")))
        told = await judge(
            {"messages": [says("hello")], "events": first},
            {"messages": [says("think", "m-2")], "events": other},
            {"messages": [strange, says("hello", "m-3")], "events": third},
            {"messages": [strange, says("hello", "m-4")], "events": fourth},
        )
        assert told["messages"] == await history(http)

    play(tmp_path, scene)


def test_a_permission_ends_the_run_and_its_answer_continues_the_turn(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        new = says("permission")
        first = await ran(http, body(new))
        [asked] = first[-1]["outcome"]["interrupts"]
        assert asked["reason"] == "tool_call"
        before = await judge({"messages": [new], "events": first})
        assert before["interrupts"] == [[asked["id"]]]
        nothing = await connected(http)
        assert nothing[-1]["outcome"]["interrupts"] == [asked], "a client that connects can answer"
        resume = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
        second = await ran(http, body(*before["messages"], resume=resume))
        assert "MESSAGES_SNAPSHOT" not in kinds(second)
        assert kinds(first).count("STEP_STARTED") == kinds(second).count("STEP_STARTED") == 1
        steps = {each["stepName"] for each in first + second if each["type"] == "STEP_STARTED"}
        assert steps == {"turn-1"}, "it is the same turn"
        told = await judge(
            {"messages": [new], "events": first}, {"events": second, "resume": resume}
        )
        assert told["messages"] == await history(http)
        late = await ran(http, body(*told["messages"], resume=resume))
        assert late[-1]["outcome"] == {"type": "success"}, "an answer that comes twice counts once"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "resolved", "payload": {"approved": False, "reason": "No."}},
        {"status": "cancelled"},
    ],
)
def test_a_permission_that_is_denied_is_an_error_of_its_tool(answer: Any, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("permission")))
        [asked] = first[-1]["outcome"]["interrupts"]
        await ran(http, body(resume=[{"interruptId": asked["id"], **answer}]))
        [result] = [each for each in await history(http) if each["role"] == "tool"]
        assert result["metadata"]["turnwire"]["isError"]

    play(tmp_path, scene)


def test_a_question_is_answered(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        new = says("ask me")
        first = await ran(http, body(new))
        [asked] = first[-1]["outcome"]["interrupts"]
        assert asked["reason"] == "input_required"
        assert asked["responseSchema"]["properties"]
        wrong = [{"interruptId": asked["id"], "status": "resolved", "payload": 4}]
        refused = await http.post("/agui", json=body(new, resume=wrong))
        assert refused.json()["error"]["code"] == "INVALID_PAYLOAD"
        resume = [{"interruptId": asked["id"], "status": "resolved", "payload": "Blue"}]
        before = await judge({"messages": [new], "events": first})
        second = await ran(http, body(*before["messages"], resume=resume))
        told = await judge(
            {"messages": [new], "events": first}, {"events": second, "resume": resume}
        )
        assert told["messages"] == await history(http)
        assert "Blue" in told["messages"][-1]["content"]

    play(tmp_path, scene)


def test_a_question_that_is_cancelled_stops_its_turn(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("ask me")))
        [asked] = first[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": asked["id"], "status": "cancelled"}]
        second = await ran(http, body(resume=resume))
        assert second[-1]["outcome"] == {"type": "cancelled"}

    play(tmp_path, scene)


def test_a_client_before_version_1_0_gets_no_outcome_that_it_does_not_know(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("ask me"), protocolVersion=None))
        [asked] = first[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": asked["id"], "status": "cancelled"}]
        second = await ran(http, body(resume=resume, protocolVersion=None))
        assert second[-1]["outcome"] == {"type": "success"}
        assert second[-1]["metadata"]["turnwire"]["interrupted"] is True

    play(tmp_path, scene)


def test_a_running_turn_is_joined_with_all_messages_or_from_a_place(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        slow = {"agent": "demo", "options": {"delay": 0.01}}
        new = says("think, a long answer")
        async with events_of(http, "POST", "/agui", json=body(new, turnwire=slow)) as stream:
            for _ in range(5):
                await stream.until(lambda event: event["type"] == "TEXT_MESSAGE_CONTENT")
            last, begun = stream.last_id, [data for _, data in stream.read]
        assert last is not None
        from_there = {"Last-Event-ID": last}
        everything, later = await asyncio.gather(
            connected(http), connected(http, headers=from_there)
        )
        told = await history(http)
        first = {"messages": [new], "events": begun}
        for rest in (everything, later):
            joined = await judge(first, {"events": rest})
            assert joined["messages"] == told
        assert "MESSAGES_SNAPSHOT" not in kinds(later)
        assert len(later) < len(everything) + len(begun)
        fresh = await judge({"events": everything})
        assert fresh["messages"] == told

    play(tmp_path, scene)


def test_a_place_of_another_log_or_beyond_its_end_brings_all_messages(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with events_of(http, "POST", "/agui", json=body(says("hello"))) as stream:
            await stream.all()
            own = stream.last_id
        assert own is not None
        await ran(http, body(says("hello"), thread="other"))
        number = own.partition("@")[0]
        beyond = own.replace(number, "999")
        for place in ("999999", "0", number, beyond, own.replace("@", "@x")):
            events = await connected(http, headers={"Last-Event-ID": place})
            assert (await judge({"events": events}))["messages"] == await history(http)
        other = await connected(http, "other", headers={"Last-Event-ID": own})
        assert "MESSAGES_SNAPSHOT" in kinds(other), "the number is of another conversation"
        rest = await connected(http, headers={"Last-Event-ID": own})
        assert "MESSAGES_SNAPSHOT" not in kinds(rest)

    play(tmp_path, scene)


def test_a_stopped_turn_is_cancelled_and_a_failed_one_is_an_error(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        slow = {"agent": "demo", "options": {"delay": 0.05}}
        sent = body(says("a long answer"), turnwire=slow)
        async with events_of(http, "POST", "/agui", json=sent) as stream:
            await stream.until(lambda event: event["type"] == "TEXT_MESSAGE_CONTENT")
            assert (await http.post("/agui/threads/thread-1/stop", json={})).status_code == 204
            events = [data for _, data in await stream.all()]
        assert events[-1]["outcome"] == {"type": "cancelled"}
        told = await judge({"messages": [says("a long answer")], "events": await connected(http)})
        assert told["messages"][-1]["metadata"]["turnwire"]["aborted"]
        failed = await ran(http, body(says("error"), thread="thread-2"))
        assert failed[-1]["type"] == "RUN_ERROR"
        assert failed[-1]["code"]

    play(tmp_path, scene)


def test_a_message_that_waits_behind_a_question(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("ask me")))
        [asked] = first[-1]["outcome"]["interrupts"]
        second = await ran(http, body(says("hello", "m-2")))
        assert second[-1]["outcome"]["interrupts"] == [asked], "the message is queued"
        resume = [{"interruptId": asked["id"], "status": "resolved", "payload": "Blue"}]
        third = await ran(http, body(says("hello", "m-2"), resume=resume))
        assert third[-1]["metadata"]["turnwire"]["turnId"] == 2, "both turns have ended"
        told = await judge({"events": third})
        # The client has the queued message before the rest of the turn that ran: it cannot move it.
        by_id = {each["id"]: each for each in await history(http)}
        assert {each["id"]: each for each in told["messages"]} == by_id
        assert len(told["messages"]) == len(by_id)

    play(tmp_path, scene)


def test_a_thread_is_the_chat_of_the_same_id_and_a_conversation(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        started = await ran(http, body(says("hello")))
        name = started[0]["metadata"]["turnwire"]["conversation"]
        chat = (await http.get("/api/chat/thread-1/messages")).json()
        assert chat["conversation"] == name
        assert await history(http, name) == await history(http)
        agent = await http.post("/agui/agents/demo", json=body(says("hello"), thread="other"))
        assert agent.status_code == 200
        assert kinds(await connected(http, "nowhere")) == [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "RUN_FINISHED",
        ]
        assert await history(http, "nowhere") == []

    play(tmp_path, scene)


@pytest.mark.parametrize("name", ["thread-1", None])
def test_an_archived_thread_is_read_and_takes_nothing_more(
    name: str | None, tmp_path: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        thread = name or await server.begin()
        started = await ran(http, body(says("hello"), thread=thread))
        own_id = started[0]["metadata"]["turnwire"]["conversation"]
        told = await history(http, thread)
        await http.patch(f"/api/conversations/{own_id}", json={"archived": True})
        assert await history(http, thread) == told
        joined = await connected(http, thread)
        assert (await judge({"events": joined}))["messages"] == told
        for address, sent in (
            ("/agui", body(says("hello"), thread=thread)),
            ("/agui", body(says("think", "m-2"), thread=thread)),
            ("/agui", body(thread=thread)),
            (f"/agui/threads/{thread}/stop", {}),
        ):
            refused = await http.post(address, json=sent)
            assert refused.json()["error"]["code"] == "CONVERSATION_CLOSED", sent
        assert (await http.get("/api/conversations")).json()["conversations"] == []

    play(tmp_path, scene)


def test_frames_on_demand(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        events = await ran(http, body(says("hello"), turnwire={**QUICK, "raw": True}))
        raw = [each["event"]["type"] for each in events if each["type"] == "RAW"]
        assert "assistant.chunk" in raw
        told = await judge({"messages": [says("hello")], "events": events})
        assert told["messages"] == await history(http)

    play(tmp_path, scene)


def test_capabilities(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = (await http.get("/agui/capabilities")).json()
        assert told["transport"]["resumable"] is True
        assert told["humanInTheLoop"]["interrupts"] is True
        own = (await http.get("/agui/agents/demo/capabilities")).json()
        assert own["identity"]["name"] == "demo"
        assert (await http.get("/agui/agents/unknown/capabilities")).status_code == 400

    play(tmp_path, scene)


def test_the_capabilities_of_each_agent_are_its_own_and_of_the_official_form(
    tmp_path: Path,
) -> None:
    agents: list[Agent] = [DemoAgent(), ClaudeAgent(), CodexAgent(), AcpAgent("acp", ["acp"])]
    agents += [
        PydanticAgent(pydantic_ai.Agent(TestModel()), name="model"),
        FunctionAgent("plain", plain),
    ]
    expected = {  # reasoning, sub-agents, approvals with other arguments
        "demo": (True, True, True),
        "claude": (True, True, True),
        "codex": (True, True, False),
        "acp": (True, False, False),
        "model": (True, False, True),
        "plain": (True, False, False),
    }

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = {
            name: (await http.get(f"/agui/agents/{name}/capabilities")).json() for name in expected
        }
        for name, each in told.items():
            has = (each["reasoning"], each["multiAgent"], each["humanInTheLoop"])
            keys = ("supported", "supported", "approveWithEdits")
            found = tuple(part[key] for part, key in zip(has, keys, strict=True))
            assert found == expected[name], name
        assert await asyncio.to_thread(schema_errors, [*told.values()]) == [[]] * len(told)
        [bad] = await asyncio.to_thread(schema_errors, [{"reasoning": {"supported": 1}}])
        assert bad, "the schema is a strict one"

    play(tmp_path, scene, agents={agent.name: agent for agent in agents})


async def plain(turn: AgentTurn) -> str:
    return "Done."


def schema_errors(told: list[Any]) -> list[list[str]]:
    """Returns the errors of capabilities, by the schema of the package."""
    script = Path(__file__).parent / "helpers" / "capabilities.mjs"
    done = subprocess.run(
        ["node", str(script), str(package())],
        input=json.dumps(told),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    errors: list[list[str]] = json.loads(done.stdout)
    return errors


def test_always_is_remembered_and_the_next_call_is_not_asked(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("permission")))
        [asked] = first[-1]["outcome"]["interrupts"]
        form = asked["responseSchema"]["properties"]
        assert form["always"] == {"type": "boolean"}
        [rule] = form["remember"]["items"]["enum"]

        def answer(**payload: Any) -> dict[str, Any]:
            entry = {"interruptId": asked["id"], "status": "resolved", "payload": payload}
            return body(resume=[entry])

        for wrong in (
            {"approved": False, "always": True},
            {"approved": True, "always": "yes"},
            {"approved": True, "remember": [{"other": 1}]},
        ):
            refused = await http.post("/agui", json=answer(**wrong))
            assert refused.json()["error"]["code"] == "INVALID_PAYLOAD", wrong
        await ran(http, answer(approved=True, always=True))
        thread = (await http.get("/agui/threads/thread-1/messages")).json()["conversation"]
        rules = (await http.get(f"/api/conversations/{thread}/rules")).json()["rules"]
        assert [each["rule"] for each in rules] == [rule]
        second = await ran(http, body(says("permission", "m-2")))
        assert second[-1]["outcome"] == {"type": "success"}, "it was not asked again"

    play(tmp_path, scene)


def test_a_run_is_refused_what_it_may_not_send(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        wrong: list[tuple[dict[str, Any], str]] = [
            (body(), "CONVERSATION_NOT_FOUND"),
            (body(says("hello"), thread=""), "INVALID_PAYLOAD"),
            (body(says("hello", "")), "INVALID_PAYLOAD"),
            (body(says("")), "INVALID_PAYLOAD"),
            (body(says("hello"), turnwire={"agent": 4}), "INVALID_PAYLOAD"),
            ({"threadId": "x"}, "INVALID_PAYLOAD"),
        ]
        for sent, code in wrong:
            refused = await http.post("/agui", json=sent)
            assert refused.json()["error"]["code"] == code, sent
        odd = await http.get("/agui/threads/thread-1/stream", headers={"Last-Event-ID": "x"})
        assert odd.status_code == 400
        await ran(http, body(says("hello"), thread="mine"))
        async with server.http(await server.token_of("bob")) as bob:
            assert await history(bob, "mine") == [], "the same id is another thread"
            assert (await bob.post("/agui/threads/mine/stop", json={})).status_code == 204

    play(tmp_path, scene)


def test_a_long_history_is_taken_up_to_a_limit_of_its_own(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await ran(http, body(says("hello")))
        old = [says("x" * 20_000, f"old-{number}") for number in range(60)]
        alice = await server.token_of("alice")
        async with server.http(alice) as other:
            for own in (http, other):
                events = await ran(own, body(*old, says("hello", "m-2"), thread="thread-1"))
                assert "MESSAGES_SNAPSHOT" in kinds(events)
                assert (await history(own))[-1]["role"] == "assistant"
        more = [says("x" * 20_000, f"old-{number}") for number in range(100)]
        refused = await http.post("/agui", json=body(*more, says("hello", "m-3")))
        assert refused.status_code == 413
        assert "Send the newest messages only" in refused.json()["error"]["message"]
        assert "max_chat_body_bytes" in refused.json()["error"]["message"]
        text = {"type": "text", "text": "x" * 20_000}
        parts = [{"id": f"m-{number}", "role": "user", "parts": [text]} for number in range(100)]
        chat = await http.post("/api/chat", json={"id": "chat-1", "messages": parts})
        assert chat.status_code == 413
        plain = {"content": "x" * 1_200_000}
        [made, *_] = (await http.get("/api/conversations")).json()["conversations"]
        large = await http.post(f"/api/conversations/{made['id']}/turns", json=plain)
        assert "(max_body_bytes)" in large.json()["error"]["message"], "others keep their limit"

    play(tmp_path, scene, max_chat_body_bytes=1_500_000)


def test_without_protocol_v2_there_are_no_runs(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        refused = await http.post("/agui", json=body(says("hello")))
        assert refused.json()["error"]["code"] == "CHAT_PROTOCOL_DISABLED"

    play(tmp_path, scene, protocol_v2=False)
