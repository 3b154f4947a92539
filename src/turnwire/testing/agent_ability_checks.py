"""The checks of what only some agents can do. Each is skipped for an agent that does not claim it.

Each check is a function that takes the AgentChecks, which open its sessions.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from turnwire.core import events as ev
from turnwire.core.content import Content, ImageContent, TextContent
from turnwire.core.controls import SetSessionOption
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.offers import Offers, SessionOption, Setting
from turnwire.ports import NativeFork, SessionPiece, SteersTurns, StoredSession
from turnwire.testing.agent_checks import AgentChecks, Skip, answer_to, has_spoken, result_in
from turnwire.testing.agent_listener import AgentBroken, Listener

__all__ = ["ABILITY_CHECKS"]

_TAKES = 10.0  # seconds that a turn has to take a message before it is stopped

# A picture of one pixel.
_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def an_interrupt_ends_a_question(checks: AgentChecks) -> None:
    """Interrupts a turn that waits for a person. A late answer must then change nothing."""
    async with checks.session() as heard:
        await checks.say(heard, checks.prompts.question)
        asked = await checks.asked(heard, ev.QuestionAsked)
        await heard.session.interrupt()
        try:
            await heard.turn_ends(1)
        except AgentBroken:
            if heard.over:
                raise
            checks.notes.append("interrupt at a question: ignored; only close() stops this agent")
            return
        await heard.session.deliver([answer_to(asked)], resumed=False)
        before = len(heard.events)
        await checks.say(heard, checks.prompts.plain)
        await checks.plain_ends(heard, 2)
        if any(isinstance(event, ev.QuestionAsked) for event in heard.events[before:]):
            raise AgentBroken("the question of the interrupted turn was asked again")


async def an_answer_outlives_its_process(checks: AgentChecks) -> None:
    """Delivers an answer to a new process. It must become the call's result or a prompt."""
    if checks.prompts.question is None:
        raise Skip
    async with checks.session() as heard:
        await checks.say(heard, checks.prompts.question)
        asked = await checks.asked(heard, ev.QuestionAsked)
        name = heard.session.native_session_id
    async with checks.session(name, {asked.tool_use_id}) as heard:
        await heard.session.deliver([answer_to(asked)], resumed=True)
        await checks.turn_ends(heard, 1, asked)
        in_words = [
            event
            for event in heard.events
            if isinstance(event, ev.AnswerDelivered) and event.in_words
        ]
        if not in_words and result_in(heard.events, asked.tool_use_id) is None:
            raise AgentBroken(
                "the answer was dropped: it is neither the result of its call, nor does "
                "answer_delivered say that it was sent as a prompt"
            )


async def a_denied_question_gets_no_answer(checks: AgentChecks) -> None:
    """Cancels a question. The turn must go on or end, and not wait forever."""
    async with checks.session() as heard:
        await checks.say(heard, checks.prompts.question)
        asked = await checks.asked(heard, ev.QuestionAsked)
        denied = Reply(asked.tool_use_id, "question", decision="deny")
        await heard.session.deliver([denied], resumed=False)
        await checks.turn_ends(heard, 1, asked)


async def a_picture_is_accepted(checks: AgentChecks) -> None:
    if not checks.make().capabilities.images:
        raise Skip
    async with checks.session() as heard:
        said = TextContent(checks.prompts.plain)
        picture = ImageContent("image/png", _PICTURE)
        await heard.session.prompt([said, picture], turn_uuid="picture:1")
        await heard.turn_ends(1)
        _expect_no_failure(heard)


async def a_listed_choice_is_accepted(checks: AgentChecks) -> None:
    """Chooses every model and permission mode that the capabilities list for everybody.

    If the sessions say themselves what they offer, also everything that the session lists.
    """
    able = checks.make().capabilities
    if not (able.models or able.permission_modes or able.session_offers):
        raise Skip
    async with checks.session() as heard:
        offers, before = Offers(), dict[str, Setting]()
        if able.session_offers:
            await heard.until(
                lambda: heard.first(ev.SessionOffered) is not None,
                "session_offered, which its capabilities promise for each session",
            )
            told = heard.first(ev.SessionOffered)
            offers, before = (told.offers, told.options) if told else (offers, before)
        for model in reversed([*able.models, *offers.models]):
            await heard.session.choose(model=model, permission_mode=None)
        for mode in reversed([*able.permission_modes, *offers.permission_modes]):
            await heard.session.choose(model=None, permission_mode=mode)
        for option in offers.session_options:
            await _choose_all_of(heard, option, before.get(option.option))
        await checks.say(heard, checks.prompts.plain)
        await heard.turn_ends(1)
        refused = heard.first(ev.ChoiceRefused)
        if refused is not None:
            wanted = refused.wanted.model or refused.wanted.permission_mode
            raise AgentBroken(f"it lists {wanted!r}, but it was refused")
        _expect_no_failure(heard)


async def _choose_all_of(heard: Listener, option: SessionOption, before: Setting | None) -> None:
    """Chooses each value of an option, and then the value that it had before."""
    values: list[Setting] = [each.value for each in option.values] or [True, False]
    for value in [*values, *([] if before is None else [before])]:
        try:
            await heard.session.control(SetSessionOption(option.option, value))
        except Refused as refused:
            why = f"it lists {value!r} of {option.option!r}, but refused it: {refused.message}"
            raise AgentBroken(why) from None


async def a_fork_answers(checks: AgentChecks) -> None:
    """Begins a session with the first turn of another one."""
    if not checks.make().capabilities.forks:
        raise Skip
    async with checks.session() as heard:
        await checks.say(heard, checks.prompts.plain)
        await heard.turn_ends(1)
        name = heard.session.native_session_id or ""
        said = [event.uuid for event in heard.events if isinstance(event, ev.AssistantMessage)]
    after = [each for each in reversed(said) if each is not None]
    async with checks.session(fork=NativeFork(name, after)) as heard:
        await checks.say(heard, checks.prompts.plain)
        await heard.turn_ends(1)
        _expect_no_failure(heard)


async def a_session_is_handed_over_in_pieces(checks: AgentChecks) -> None:
    """Takes the pieces of a session as the engine does, and resumes the session from them."""
    pieces: list[SessionPiece] = []
    async with checks.session() as heard:
        session = heard.session
        if not (isinstance(session, StoredSession) and session.is_mirrored):
            raise Skip
        await checks.say(heard, checks.prompts.plain)
        await heard.turn_ends(1)
        pieces += await session.take_pieces()
        if not pieces:
            raise AgentBroken("a turn has ended, and take_pieces() returned nothing about it")
        name = session.native_session_id
        await session.close()
        await heard.until_over()
        pieces += await session.take_pieces()
        if session.has_pieces or await session.take_pieces():
            raise AgentBroken("take_pieces() returns pieces again that were taken before")
    others = {piece.session_id for piece in pieces} - {name}
    if others:
        raise AgentBroken(f"pieces of another session: {', '.join(sorted(others))}")
    async with checks.session(name, pieces=pieces) as heard:
        await checks.say(heard, checks.prompts.plain)
        await heard.turn_ends(1)
        _expect_no_failure(heard)


async def a_message_goes_into_the_running_turn(checks: AgentChecks) -> None:
    """Hands a message to a session without a turn, and to a running turn. Only that may take it."""
    if not checks.make().capabilities.steers:
        raise Skip
    said: list[Content] = [TextContent(checks.prompts.plain)]
    async with checks.session() as heard:
        session = heard.session
        if not isinstance(session, SteersTurns):
            raise AgentBroken("its capabilities list steers, but a session has no steer()")
        if await session.steer(said, message_id="early"):
            raise AgentBroken("steer() returned True without a turn: the message would be lost")
        await checks.say(heard, checks.prompts.long)
        await checks.until(heard, lambda: has_spoken(heard.events), "first words")
        if await session.steer(said, message_id="late"):
            with suppress(AgentBroken, TimeoutError):  # it may take it only at the end of its text
                async with asyncio.timeout(_TAKES):
                    await heard.until(lambda: bool(_taken(heard)), "message that was taken")
        else:
            checks.notes.append("steer: the running turn did not take the message")
        await session.interrupt()
        try:
            await heard.turn_ends(1)
        except AgentBroken:
            if heard.over:
                raise
            return  # it ignores interrupts, as another check notes
        in_time = _taken(heard)
        await checks.say(heard, checks.prompts.plain)
        await heard.turn_ends(2)
    taken = _taken(heard)
    if taken != in_time:
        raise AgentBroken("a message was taken when its turn had ended")
    if "early" in taken or len(taken) > 1:
        raise AgentBroken(f"a message was taken that was not accepted, or twice: {taken}")


def _taken(heard: Listener) -> list[str]:
    """Returns the ids of the messages that turns have taken, in their order.

    A turn may report the message that it began with, too: under its own id.
    """
    events = [event for event in heard.events if isinstance(event, ev.UserMessage)]
    return [each.message_id for each in events if each.message_id in ("early", "late")]


def _expect_no_failure(heard: Listener) -> None:
    failed = heard.first(ev.TurnFailed)
    if failed is not None:
        raise AgentBroken(f"the turn failed: {failed.code}: {failed.message}")


ABILITY_CHECKS = [
    an_interrupt_ends_a_question,
    a_denied_question_gets_no_answer,
    an_answer_outlives_its_process,
    a_picture_is_accepted,
    a_listed_choice_is_accepted,
    a_fork_answers,
    a_session_is_handed_over_in_pieces,
    a_message_goes_into_the_running_turn,
]
"""All of them, in their order."""
