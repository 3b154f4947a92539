"""Checks that an agent implements the agent port correctly.

    report = asyncio.run(check_agent(MyAgent, Prompts(long="Count to 1000, slowly.")))

Every check uses real sessions. One error names all checks that failed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from turnwire.ports import Agent
from turnwire.testing.agent_ability_checks import ABILITY_CHECKS
from turnwire.testing.agent_checks import AgentChecks, Prompts, Skip
from turnwire.testing.agent_listener import AgentBroken

__all__ = ["AgentBroken", "AgentReport", "Prompts", "check_agent"]


class AgentReport(Struct, frozen=True):
    """The checks that passed, the checks that were skipped, and notes that are no failures."""

    kept: list[str]
    skipped: list[str]
    notes: list[str]


_Check: TypeAlias = Callable[[], Awaitable[None]]


async def check_agent(
    make_agent: Callable[[], Agent], prompts: Prompts | None = None, *, seconds: float = 15.0
) -> AgentReport:
    """Runs every check. Raises AgentBroken, which names all checks that failed.

    `seconds` is the timeout for each step: the start of a turn, its end and closing.
    """
    checker = AgentChecks(make_agent, prompts or Prompts(), seconds)
    why = make_agent().unavailable()
    if why is not None:
        raise AgentBroken(f"the agent cannot be checked, because it is unavailable: {why}")
    checks: list[_Check] = [
        checker.describes_itself,
        checker.a_prompt_gets_a_turn,
        checker.a_second_prompt_gets_a_second_turn,
        checker.a_resumed_session_answers,
        checker.a_tool_has_its_result,
        checker.an_interrupt_ends_the_turn,
        checker.a_question_is_answered,
        checker.a_question_reaches_a_person,
        checker.a_question_survives_its_process,
        checker.a_permission_is_allowed_or_denied,
        checker.a_control_is_answered_or_refused,
        checker.closing_ends_everything,
        checker.an_idle_session_closes,
    ]
    named = [(check.__name__, check) for check in checks]
    named += [(check.__name__, partial(check, checker)) for check in ABILITY_CHECKS]
    kept: list[str] = []
    skipped: list[str] = []
    broken: list[str] = []
    for identifier, check in named:
        name = identifier.replace("_", " ")
        try:
            await check()
        except Skip:
            skipped.append(name)
        except AgentBroken as problem:
            broken.append(f"{name}: {problem}")
        except Exception as error:
            broken.append(f"{name}: raised {error!r}")
        else:
            kept.append(name)
    if broken:
        raise AgentBroken(f"{len(broken)} of {len(named)} checks failed:\n" + "\n".join(broken))
    return AgentReport(kept, skipped, checker.notes)
