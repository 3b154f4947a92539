"""Translates open requests into calls of the profile `classic`, and its replies back."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.events import Question
from turnwire.core.faults import fault_in_words
from turnwire.core.status import OpenRequest
from turnwire.dialects.rpc.classic import frames as f
from turnwire.dialects.rpc.frames import Reply
from turnwire.dialects.rpc.methods import PermissionReply, QuestionReply

__all__ = ["Answers", "Decision", "call_of", "read_reply"]


class Answers(Struct, frozen=True, gc=False):
    """The result of `AskUserQuestion`."""

    answers: dict[str, str | list[str]]  # by header; several labels as a list or with commas


class Decision(Struct, frozen=True, rename="camel", gc=False):
    """The result of `RequestPermission`."""

    approved: bool
    permission_updates: list[Any] | None = None  # those of the suggestions that apply from now on
    deny_reason: str | None = None


# Rules in the shape of Claude's SDK, which a client of this profile can show.
_RULES = frozenset(
    [
        "addRules",
        "replaceRules",
        "removeRules",
        "setMode",
        "addDirectories",
        "removeDirectories",
    ]
)


def call_of(call_id: str, request: OpenRequest) -> f.ServerCall:
    """Returns the call that asks a client."""
    if request.kind == "question":
        asked = [
            f.AskedQuestion(
                each.question,
                header,
                [f.AskedOption(option.label, option.description or "") for option in each.options],
                each.multi,
            )
            for header, each in _by_header(request.questions)
        ]
        return f.ServerCall(call_id, "AskUserQuestion", f.Questions(asked))
    rules = [each for each in request.suggestions if _is_rule(each)]
    about = f.Permission(request.tool_name, request.input, request.tool_use_id, rules)
    return f.ServerCall(call_id, "RequestPermission", about)


def _by_header(questions: list[Question]) -> list[tuple[str, Question]]:
    """Returns the questions by their headers, which are made unique."""
    out: dict[str, Question] = {}
    for each in questions:
        name = each.header or each.question
        header = each.id if name in out else name
        while header in out:
            header += " "
        out[header] = each
    return [*out.items()]


def _is_rule(suggestion: Any) -> bool:
    return isinstance(suggestion, dict) and suggestion.get("type") in _RULES


def read_reply(reply: Reply, request: OpenRequest) -> QuestionReply | PermissionReply:
    """Returns the content of a client's answer. Raises Refused, with the `id`."""
    kind: Any = Answers if request.kind == "question" else Decision
    try:
        read: Answers | Decision = msgspec.convert(reply.result, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said = f"result: {fault_in_words(str(error))}."
        raise Refused("INVALID_PAYLOAD", said, id=reply.id) from None
    if isinstance(read, Answers):
        return QuestionReply(_answers(read.answers, request))
    if read.approved:
        kept = [each for each in read.permission_updates or [] if each in request.suggestions]
        return PermissionReply("allow", remember=kept)
    return PermissionReply("deny", None if request.decision_only else read.deny_reason)


def _answers(
    given: dict[str, str | list[str]], request: OpenRequest
) -> str | dict[str, str | list[str]]:
    """Returns the answers by question id. A client may also use the question's text or id."""
    out: dict[str, str | list[str]] = {}
    for header, each in _by_header(request.questions):
        for name in (header, each.question, each.id):
            if name in given:
                out[each.id] = _chosen(given[name], each)
                break
    if not request.questions and given:
        return ", ".join(
            each if isinstance(each, str) else ", ".join(each) for each in given.values()
        )
    return out


def _chosen(given: str | list[str], question: Question) -> str | list[str]:
    """Returns the labels of a multi-select question as a list, if the text consists of labels."""
    labels = {option.label for option in question.options}
    if not question.multi:
        return given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(given, list):
        return given
    if given in labels:
        return [given]
    several = [each.strip() for each in given.split(",")]
    return several if all(each in labels for each in several) else given
