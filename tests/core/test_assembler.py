"""The assembler: deltas become a message, and each rule has a stream that breaks it."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.core.assembler import (
    RULES,
    Assembled,
    Assembler,
    ContractBroken,
    RunLedger,
    Violation,
    ViolationCode,
    check_message,
)
from turnwire.core.message import (
    Message,
    MessagePart,
    Role,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
)
from turnwire.core.message_codec import decode_delta, decode_message
from turnwire.core.message_deltas import MessageDelta

START = ("start", {"modelId": "claude-x", "requestId": "req_1"})
DONE = ("done", {"finishReason": "end_turn"})
ERROR = ("error", {"errorCode": "overloaded", "message": "try again", "retryable": True})

Said = tuple[str, dict[str, Any]]


def text(piece: str, **more: Any) -> Said:
    return "text", {"textDelta": piece, **more}


def thinking(piece: str, **more: Any) -> Said:
    return "thinking", {"textDelta": piece, **more}


def begin(call_id: str, **more: Any) -> Said:
    return "tool_call_start", {"toolCallId": call_id, "toolName": "Read", **more}


def args(call_id: str, piece: str) -> Said:
    return "tool_call_args", {"toolCallId": call_id, "argsTextDelta": piece}


def end(call_id: str, **more: Any) -> Said:
    return "tool_call_end", {"toolCallId": call_id, **more}


def usage(total: int) -> Said:
    return "usage", {"inputTokens": total - 1, "outputTokens": 1, "totalTokens": total}


def delta(seq: int, said: Said, **more: Any) -> MessageDelta:
    kind, payload = said
    frame = {"runId": "conv:1", "seq": seq, "kind": kind, "payload": payload, "timestamp": "12:00"}
    return decode_delta(json.dumps(frame | more))


def assemble(*said: Said, strict: bool = False) -> Assembled:
    """Returns the messages of this stream, numbered from 1."""
    assembler = Assembler(strict=strict)
    for seq, each in enumerate(said, 1):
        assembler.feed(delta(seq, each))
    return assembler.finish()


def codes(result: Assembled) -> list[str]:
    return [violation.code for violation in result.violations]


def parts(result: Assembled) -> list[Any]:
    assert result.message is not None
    return [
        {"kind": part["kind"], **part["payload"]}
        for part in json.loads(msgspec.json.encode(result.message.parts))
    ]


def feed(*deltas: MessageDelta) -> list[list[Violation]]:
    assembler = Assembler()
    return [assembler.feed(each) for each in deltas]


# --- how parts are put together ---------------------------------------------------------------


def test_a_whole_stream_becomes_one_message() -> None:
    result = assemble(
        START,
        thinking("Let me "),
        thinking("look."),
        text("I will "),
        text("read it."),
        begin("t1"),
        args("t1", '{"path":'),
        args("t1", ' "a"}'),
        end("t1"),
        usage(12),
        DONE,
    )
    assert codes(result) == []
    assert result.error is None
    assert json.loads(msgspec.json.encode(result.message)) == {
        "runId": "conv:1",
        "role": "assistant",
        "parts": [
            {"kind": "thinking", "payload": {"text": "Let me look."}},
            {"kind": "text", "payload": {"text": "I will read it."}},
            {
                "kind": "tool_call",
                "payload": {"toolCallId": "t1", "toolName": "Read", "arguments": {"path": "a"}},
            },
        ],
        "timestamp": "12:00",
        "meta": {
            "schemaVersion": 1,
            "turnId": 1,
            "modelId": "claude-x",
            "requestId": "req_1",
            "finishReason": "end_turn",
            "usage": {"inputTokens": 11, "outputTokens": 1, "totalTokens": 12},
        },
    }


def test_a_new_part_begins_when_another_kind_comes_between() -> None:
    result = assemble(
        START, text("a"), thinking("b"), text("c"), begin("t"), end("t"), text("d"), DONE
    )
    assert [(part["kind"], part.get("text")) for part in parts(result)] == [
        ("text", "a"),
        ("thinking", "b"),
        ("text", "c"),
        ("tool_call", None),
        ("text", "d"),
    ]


def test_blocks_of_one_kind_stay_apart_where_deltas_name_their_index() -> None:
    result = assemble(START, text("a", index=0), text("b", index=1), text("c", index=0), DONE)
    assert [part["text"] for part in parts(result)] == ["ac", "b"]


def test_a_block_stands_at_its_index_even_if_it_began_late() -> None:
    result = assemble(START, text("b", index=1), thinking("a", index=0), DONE)
    assert [part["text"] for part in parts(result)] == ["a", "b"]


def test_pieces_without_an_index_do_not_join_a_part_that_has_one() -> None:
    result = assemble(START, text("a", index=0), text("b"), text("c"), DONE)
    assert [part["text"] for part in parts(result)] == ["a", "bc"]


def test_sources_and_proofs_gather_in_their_part() -> None:
    result = assemble(
        START,
        text("a", citations=[1]),
        text("", citations=[2]),
        thinking("b", redacted="sealed"),
        thinking("", signature="sig"),
        DONE,
    )
    assert parts(result) == [
        {"kind": "text", "text": "a", "citations": [1, 2]},
        {"kind": "thinking", "text": "b", "signature": "sig", "redacted": "sealed"},
    ]


def test_arguments_are_collected_by_call_in_any_order() -> None:
    result = assemble(
        START,
        begin("t1", toolType="MCP"),
        begin("t2"),
        args("t1", '{"a"'),
        args("t2", '{"b"'),
        args("t1", ":1}"),
        end("t1"),
        args("t2", ":2}"),
        end("t2"),
        DONE,
    )
    assert codes(result) == []
    assert [part["arguments"] for part in parts(result)] == [{"a": 1}, {"b": 2}]
    assert parts(result)[0]["toolType"] == "MCP"


@pytest.mark.parametrize("written", ['{"a": 1', "[1]", "7", "null", "{" * 5000, '"\\ud800'])
def test_arguments_that_are_no_json_object_are_kept_as_text_and_marked(written: str) -> None:
    result = assemble(START, begin("t"), args("t", written), end("t"), DONE)
    assert codes(result) == []
    (part,) = parts(result)
    assert part["arguments"] == {}
    assert part["rawArgsText"] == written
    assert result.message is not None
    assert result.message.meta["argsNotJson"] == ["t"]


def test_a_call_without_arguments_has_an_empty_input() -> None:
    (part,) = parts(assemble(START, begin("t"), end("t"), DONE))
    assert part["arguments"] == {}
    assert "rawArgsText" not in part


def test_arguments_said_at_the_end_of_a_call_count() -> None:
    (part,) = parts(
        assemble(START, begin("t"), args("t", '{"a": 1}'), end("t", arguments={"a": 2}), DONE)
    )
    assert part["arguments"] == {"a": 2}


def test_blocks_of_an_unknown_kind_keep_their_position() -> None:
    done = ("done", {"finishReason": "x", "blocks": [{"position": 1, "block": {"type": "error"}}]})
    result = assemble(START, text("a", index=0), text("b", index=2), done)
    assert result.message is not None
    assert result.message.meta["blocks"] == [{"position": 1, "block": {"type": "error"}}]


def test_void_blocks_are_left_out_and_need_not_end() -> None:
    done = ("done", {"finishReason": "abandoned", "discardedFrom": 1})
    result = assemble(START, text("a", index=0), begin("t", index=1), text("no index"), done)
    assert codes(result) == []
    assert [part["text"] for part in parts(result)] == ["a", "no index"]


def test_the_data_of_start_and_end_are_in_meta() -> None:
    start = {
        "modelId": None,
        "requestId": None,
        "messageId": "msg_1",
        "provider": "claude",
        "parentToolUseId": "toolu_task",
        "agentId": "agent-7",
    }
    done = {"finishReason": "x", "error": "rate_limit", "aborted": True, "messageId": "msg_1"}
    result = assemble(("start", start), ("done", done))
    assert result.message is not None
    assert result.message.parts == []
    assert result.message.meta == {
        "schemaVersion": 1,
        "messageId": "msg_1",
        "turnId": 1,
        "provider": "claude",
        "parentToolUseId": "toolu_task",
        "agentId": "agent-7",
        "finishReason": "x",
        "error": "rate_limit",
        "aborted": True,
    }


def test_an_error_ends_without_a_message() -> None:
    result = assemble(START, text("half"), ERROR)
    assert codes(result) == []
    assert result.message is None
    assert result.error is not None
    assert (result.error.error_code, result.error.retryable) == ("overloaded", True)


def test_provider_data_does_not_change_the_message() -> None:
    said = [START, text("a"), DONE]
    plain, traced = Assembler(), Assembler()
    for seq, each in enumerate(said, 1):
        plain.feed(delta(seq, each))
        traced.feed(delta(seq, each, providerRaw={"text": "something else"}))
    assert plain.finish() == traced.finish()


def test_finishing_twice_says_the_same() -> None:
    assembler = Assembler()
    assembler.feed(delta(1, START))
    assert assembler.finish() == assembler.finish()
    assert codes(assembler.finish()) == ["no_end"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["text", "thinking"]), st.text(min_size=1, max_size=9)),
        max_size=5,
    ),
    st.dictionaries(st.text(max_size=3), st.text(max_size=9) | st.integers(-9, 9), max_size=3),
    st.lists(st.integers(1, 4)),
)
def test_any_cutting_gives_the_same_message(
    said: list[tuple[str, str]], arguments: dict[str, Any], sizes: list[int]
) -> None:
    size = iter(sizes)

    def pieces(whole: str) -> list[str]:
        out: list[str] = []
        while whole:
            length = next(size, len(whole))
            out.append(whole[:length])
            whole = whole[length:]
        return out

    written = json.dumps(arguments)
    one: list[Said] = [START]
    many: list[Said] = [START]
    for kind, words in said:
        one.append((kind, {"textDelta": words}))
        many += [(kind, {"textDelta": piece}) for piece in pieces(words)]
    ending: list[Said] = [end("t"), DONE]
    whole = assemble(*one, begin("t"), args("t", written), *ending)
    cut = assemble(*many, begin("t"), *(args("t", p) for p in pieces(written)), *ending)
    assert codes(whole) == codes(cut) == []
    assert whole.message == cut.message
    assert parts(cut)[-1]["arguments"] == arguments
    assert "".join(words for _, words in said) == "".join(p["text"] for p in parts(cut)[:-1])


# --- every rule of a stream, broken -----------------------------------------------------------

BROKEN: dict[str, tuple[list[Said], list[str]]] = {
    # code: a stream that breaks the rule, and the text that is assembled all the same
    "start_not_first": ([text("a"), DONE], ["a"]),
    "second_start": ([START, text("a"), START, text("b"), DONE], ["ab"]),
    "no_end": ([START, text("a")], ["a"]),
    "second_end": ([START, text("a"), DONE, ERROR], ["a"]),
    "after_end": ([START, text("a"), DONE, text("b")], ["a"]),
    "second_usage": ([START, usage(2), usage(9), DONE], []),
    "unknown_tool_call": ([START, args("t", "{}"), text("a"), DONE], ["a"]),
    "duplicate_tool_call_id": (
        [START, begin("t"), begin("t"), args("t", "{}"), end("t"), DONE],
        [],
    ),
    "args_after_end": ([START, begin("t"), end("t"), args("t", "x"), DONE], []),
    "second_tool_call_end": ([START, begin("t"), end("t"), end("t"), DONE], []),
    "tool_call_not_ended": ([START, begin("t"), args("t", "{}"), DONE], []),
    "unknown_kind": ([START, ("hologram", {"beams": 3}), text("a"), DONE], ["a"]),
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_stream_that_breaks_a_rule_is_read_on_and_the_rule_is_named(code: ViolationCode) -> None:
    said, texts = BROKEN[code]
    result = assemble(*said)
    (violation,) = result.violations
    assert violation.code == code
    assert violation.rule == RULES[code]
    assert violation.detail
    assert [part["text"] for part in parts(result) if part["kind"] == "text"] == texts
    if code == "no_end":
        assert violation.seq is None
        assert violation.delta is None
    else:
        assert violation.seq is not None
        assert violation.delta == delta(violation.seq, said[violation.seq - 1])


@pytest.mark.parametrize("code", BROKEN)
def test_a_strict_assembler_raises_the_violation(code: ViolationCode) -> None:
    said, _ = BROKEN[code]
    with pytest.raises(ContractBroken, match=code) as caught:
        assemble(*said, strict=True)
    assert caught.value.violation.code == code


def test_the_end_of_an_unknown_call_is_a_violation() -> None:
    result = assemble(START, end("t"), DONE)
    assert codes(result) == ["unknown_tool_call"]
    assert result.violations[0].tool_call_id == "t"


def test_a_stream_without_any_delta_has_no_end_and_no_message() -> None:
    result = Assembler().finish()
    assert codes(result) == ["no_end"]
    assert result.message is None


def test_a_message_of_an_unfinished_stream_is_marked() -> None:
    result = assemble(START, text("a"))
    assert result.message is not None
    assert result.message.meta["incomplete"] is True
    assert "finishReason" not in result.message.meta


@pytest.mark.parametrize("seq", [2, 1, 0])
def test_seq_strictly_increases_and_a_repeat_is_left_out(seq: int) -> None:
    out = feed(delta(1, START), delta(2, text("a")), delta(seq, text("b")), delta(9, DONE))
    assert [[v.code for v in each] for each in out] == [[], [], ["seq_not_increasing"], []]
    assert out[2][0].seq == seq


def test_seq_begins_with_one_and_may_have_gaps() -> None:
    out = feed(delta(0, START), delta(5, text("a")), delta(7, DONE))
    assert [[v.code for v in each] for each in out] == [["seq_not_from_one"], [], []]


def test_a_delta_of_another_run_is_left_out() -> None:
    assembler = Assembler()
    assembler.feed(delta(1, START))
    (violation,) = assembler.feed(delta(2, text("x"), runId="conv:2"))
    assert violation.code == "wrong_run"
    assembler.feed(delta(2, DONE))
    assert parts(assembler.finish()) == []


def test_a_delta_of_another_message_is_left_out() -> None:
    assembler = Assembler()
    assembler.feed(delta(1, START))
    assert assembler.feed(delta(2, text("a", messageId="msg_1"))) == []
    (violation,) = assembler.feed(delta(3, text("b", messageId="msg_2")))
    assert violation.code == "wrong_message"
    assembler.feed(delta(3, text("c", messageId="msg_1")))
    assembler.feed(delta(4, DONE))
    assert parts(assembler.finish()) == [{"kind": "text", "text": "ac"}]


def test_the_last_usage_counts() -> None:
    message = assemble(START, usage(2), usage(9), DONE).message
    assert message is not None
    assert message.meta["usage"]["totalTokens"] == 9


def test_an_unknown_delta_is_kept() -> None:
    result = assemble(START, ("hologram", {"beams": 3}), DONE)
    assert result.violations[0].seq == 2
    assert result.message is not None
    (kept,) = result.message.meta["unknownDeltas"]
    assert kept["payload"] == {"beams": 3}
    for nameless in ('{"kind": "hologram"}', "[]"):
        (violation,) = Assembler().feed(decode_delta(nameless))
        assert violation.seq is None


def test_an_unfinished_call_is_read() -> None:
    (part,) = parts(assemble(START, begin("t"), args("t", '{"a": 1}'), DONE))
    assert part["arguments"] == {"a": 1}


# --- one message ------------------------------------------------------------------------------

EVERY_KIND: dict[str, dict[str, Any]] = {
    "text": {"text": "x"},
    "thinking": {"text": "x"},
    "tool_call": {"toolCallId": "t", "toolName": "Read", "arguments": {}},
    "tool_result": {"toolCallId": "t", "isError": False, "content": "x"},
    "image": {"mimeType": "image/png", "data": "aGk="},
    "file_ref": {"path": "notes.txt"},
    "hologram": {"beams": 3},
}

ALLOWED = {
    "system": {"text", "thinking", "hologram"},
    "user": {"text", "image", "file_ref", "hologram"},
    "assistant": {"text", "thinking", "tool_call", "hologram"},
    "tool": {"tool_result", "hologram"},
}


@pytest.mark.parametrize("role", ALLOWED)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_role_has_its_kinds_of_parts(role: str, kind: str) -> None:
    part = {"kind": kind, "payload": EVERY_KIND[kind]}
    frame = {"runId": "conv:1", "role": role, "parts": [part], "timestamp": "12:00"}
    message = decode_message(json.dumps(frame))
    found = check_message(message)
    if kind in ALLOWED[role]:
        assert found == []
    else:
        (violation,) = found
        assert violation.code == "role_forbids_part"
        assert violation.detail == f"part 0 of a {role} message is {kind}"
        with pytest.raises(ContractBroken, match=kind):
            check_message(message, strict=True)


# --- one run ----------------------------------------------------------------------------------


def call(call_id: str) -> MessagePart:
    return ToolCallPart(ToolCallPayload(call_id, "Read", {}))


def result_of(call_id: str) -> MessagePart:
    return ToolResultPart(ToolResultPayload(call_id, False, "ok"))


def said(*content: MessagePart, run: str = "conv:1") -> Message:
    role: Role = "tool" if isinstance(content[0], ToolResultPart) else "assistant"
    return Message(run, role, list(content), "12:00")


def test_calls_and_results_that_match_break_nothing() -> None:
    ledger = RunLedger("conv:1")
    assert ledger.add(said(call("a"), call("b"))) == []
    assert ledger.open_calls == ["a", "b"]
    assert ledger.add(said(result_of("b"))) == []
    assert ledger.add(said(result_of("a"))) == []
    assert ledger.open_calls == []
    assert ledger.finish() == []


RUNS: dict[str, list[Message]] = {
    "duplicate_tool_call_id": [said(call("t")), said(result_of("t")), said(call("t"))],
    "second_tool_result": [said(call("t")), said(result_of("t")), said(result_of("t"))],
    "untraceable_tool_result": [said(result_of("t"))],
    "no_tool_result": [said(call("t"))],
    "wrong_run": [said(call("t"), run="conv:2")],
}


@pytest.mark.parametrize("code", RUNS)
def test_a_run_that_breaks_a_rule_is_named(code: ViolationCode) -> None:
    ledger = RunLedger("conv:1")
    found = [violation for message in RUNS[code] for violation in ledger.add(message)]
    assert ([] if code == "no_tool_result" else [code]) == [v.code for v in found]
    (violation,) = ledger.finish()
    assert violation.code == code
    assert violation.tool_call_id == (None if code == "wrong_run" else "t")


@pytest.mark.parametrize("code", RUNS)
def test_a_strict_ledger_raises_the_violation(code: ViolationCode) -> None:
    def follow() -> None:
        ledger = RunLedger("conv:1", strict=True)
        for message in RUNS[code]:
            ledger.add(message)
        ledger.finish()

    with pytest.raises(ContractBroken, match=code):
        follow()


def test_a_result_before_its_call_cannot_be_traced() -> None:
    ledger = RunLedger("conv:1")
    (violation,) = ledger.add(said(result_of("t")))
    assert violation.code == "untraceable_tool_result"
    assert ledger.add(said(call("t"))) == []


# --- the list of rules ------------------------------------------------------------------------


def test_every_code_has_its_rule_and_a_test() -> None:
    elsewhere = {"seq_not_from_one", "seq_not_increasing", "wrong_message", "role_forbids_part"}
    assert set(get_args(ViolationCode)) == set(RULES)
    assert set(RULES) == {*BROKEN, *RUNS, *elsewhere}


def test_the_error_names_the_rule_and_the_position() -> None:
    with pytest.raises(ContractBroken) as caught:
        assemble(START, START, strict=True)
    assert str(caught.value) == (
        "second_start (seq 2): the stream has started. A stream has one start."
    )
    with pytest.raises(ContractBroken) as caught:
        assemble(strict=True)
    assert str(caught.value).startswith("no_end: the stream stopped in the middle.")
