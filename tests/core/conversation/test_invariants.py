"""The promises hold whatever happens, in whatever order."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from msgspec import Raw

from tests.core.conversation.driver import whose
from tests.core.conversation.model import Model
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import TextContent
from turnwire.core.conversation import Options
from turnwire.core.conversation import inputs as i
from turnwire.core.entries import EntryStream

OPTIONS = [
    Options(max_queue=2),
    Options(max_queue=2, on_disconnect="continue"),
    Options(max_queue=0),
    Options(question_seconds=60, permission_seconds=60),
    Options(question_seconds=60, question_policy="default", question_default="blue"),
    Options(question_seconds=60, question_policy="wait", questions_survive=True),
]
IDS = st.integers(0, 7)  # which of what there is
FATES: Any = st.sampled_from(["hold", "continue", "clear"])


class Conversations(RuleBasedStateMachine):
    """People, an agent that keeps no rules, and a server that falls at any moment."""

    @initialize(options=st.sampled_from(OPTIONS))
    def begin(self, options: Options) -> None:
        self.model = Model(options)
        self.entries = EntryStream()
        self.ids = 0
        self.tools: list[str] = []
        self.requests: list[str] = []
        self.ended: dict[str, Any] = {}

    def new_id(self, kind: str) -> str:
        self.ids += 1
        return f"{kind}{self.ids}"

    def take(self, happened: i.Input) -> None:
        self.model.take(happened)

    # --- people ---------------------------------------------------------------------------------

    @rule()
    def someone_speaks(self) -> None:
        queue_id = self.new_id("q")
        self.take(
            i.Said(
                at=0,
                content=[TextContent("Hello")],
                queue_id=queue_id,
                client_message_id=queue_id,
                trace_id=self.new_id("trace"),
            )
        )

    @rule(which=IDS, other=IDS, action=st.sampled_from(["remove", "replace", "move", "resume"]))
    def someone_changes_the_queue(self, which: int, other: int, action: Any) -> None:
        queue = self.model.queue
        self.take(
            i.ChangedQueue(
                at=0,
                action=action,
                queue_id=queue[which % len(queue)] if queue else "q-unknown",
                content=[TextContent("Else")],
                before=queue[other % len(queue)] if queue and other else None,
            )
        )

    @rule(which=IDS, resume=st.booleans())
    def someone_answers(self, which: int, resume: bool) -> None:
        question_id = self.pick_request(which)
        self.take(i.Answered(at=0, question_id=question_id, answer="blue", resume_task=resume))

    @rule(which=IDS, decision=st.sampled_from(["allow", "deny"]))
    def someone_decides(self, which: int, decision: Any) -> None:
        self.take(i.Decided(at=0, request_id=self.pick_request(which), decision=decision))

    @rule(back=st.integers(0, 2), queue=FATES)
    def someone_stops(self, back: int, queue: Any) -> None:
        self.take(i.Interrupted(at=0, turn_id=self.model.state.turns - back, queue=queue))

    def pick_request(self, which: int) -> str:
        """Mostly one that is open."""
        ids = [request.request_id for request in self.model.state.requests] or self.requests
        return ids[which % len(ids)] if ids else "none"

    # --- the agent ------------------------------------------------------------------------------

    def hear(self, *events: ev.NormalizedStreamEvent) -> None:
        for number, event in enumerate(events, 1):
            self.take(
                i.AgentSaid(
                    at=0,
                    event=event,
                    entries=self.entries.feed(event, run_id="", now=""),
                    trace_id=self.new_id("trace"),
                    last=number == len(events) or not isinstance(events[number], ev.ResultSummary),
                )
            )

    def pick_voice(self, which: int) -> str | None:
        """The agent itself, or one that works for a call."""
        return self.tools[-which] if 0 < which <= len(self.tools) else None

    def pick_known(self, which: int) -> str | None:
        """A call that is open, or got its result from us: an agent may speak of it again."""
        known = [*self.model.state.tools, *self.model.state.closed]
        return known[which % len(known)] if known else None

    def say(self, voice: str | None, block: ContentBlock) -> None:
        self.hear(ev.AssistantMessage(*whose(voice), self.new_id("msg"), 0, [block]))

    @rule()
    def agent_starts(self) -> None:
        self.hear(ev.TurnStarted(*whose()))

    @rule(which=IDS)
    def agent_speaks(self, which: int) -> None:
        self.say(self.pick_voice(which), TextBlock("Hi", "completed"))

    @rule(which=IDS, name=st.sampled_from(["Bash", "request_input"]))
    def agent_calls(self, which: int, name: str) -> None:
        tool = self.new_id("t")
        voice = self.pick_voice(which)
        self.tools.append(tool)
        if name == "request_input":
            self.requests.append(tool)
        self.say(voice, ToolUseBlock(tool, name, "TOOL", {}, "completed"))

    @rule(which=IDS)
    def agent_calls_again(self, which: int) -> None:
        tool = self.pick_known(which)
        if tool is not None:
            self.say(None, ToolUseBlock(tool, "Bash", "TOOL", {}, "completed"))

    @rule(which=IDS)
    def agent_gets_a_result(self, which: int) -> None:
        tool = self.pick_voice(which)
        if tool is not None:
            block = ToolResultBlock(tool, "done", False, "completed")
            # A process that says what an earlier one said is a new one.
            entries = EntryStream()
            event = ev.UserMessage(*whose(), [block], "tool")
            said = entries.feed(event, run_id="", now="")
            self.take(i.AgentSaid(at=0, event=event, entries=said))

    @rule(which=IDS, voice=IDS, new=st.booleans())
    def agent_asks(self, which: int, voice: int, new: bool) -> None:
        tool = self.new_id("t") if new else self.pick_known(which)
        if tool is not None:
            if new:
                self.tools.append(tool)
                self.requests.append(tool)
            asked = (self.new_id("r"), tool, "request_input", [])
            self.hear(ev.QuestionAsked(*whose(self.pick_voice(voice)), *asked))  # type: ignore[arg-type]

    @rule(which=IDS, voice=IDS)
    def agent_wants(self, which: int, voice: int) -> None:
        request_id = self.new_id("p")
        self.requests.append(request_id)
        asked = (request_id, self.pick_voice(which) or self.new_id("t"), "Bash", {})
        self.hear(ev.PermissionRequested(*whose(self.pick_voice(voice)), *asked))  # type: ignore[arg-type]

    @rule(which=IDS)
    def agent_withdraws(self, which: int) -> None:
        theirs = list(self.model.state.asked)
        if theirs:
            self.hear(ev.RequestWithdrawn(*whose(), theirs[which % len(theirs)]))

    @rule(
        interrupted=st.booleans(),
        deferred=st.booleans(),
        origin=st.sampled_from([None, None, "task-notification"]),
        figures=st.booleans(),
    )
    def agent_ends(
        self, interrupted: bool, deferred: bool, origin: str | None, figures: bool
    ) -> None:
        tool = "t" if deferred else None
        end = ev.TurnCompleted(*whose(), "end_turn", interrupted, tool, origin)
        result = ev.ResultSummary(*whose(), "success", False, cost_usd=1.0)
        self.hear(end, result) if figures else self.hear(end)

    @rule(last=st.booleans())
    def agent_fails(self, last: bool) -> None:
        event = ev.TurnFailed(*whose(), "api_error", "It went wrong.")
        self.take(i.AgentSaid(at=0, event=event, last=last))

    @rule(
        subtype=st.sampled_from(["task_started", "task_notification", "session_state_changed"]),
        which=IDS,
    )
    def agent_has_news(self, subtype: str, which: int) -> None:
        data = {
            "task_id": f"task{which}",
            "tool_use_id": self.pick_voice(which),
            "is_backgrounded": True,
            "state": "idle",
        }
        self.hear(ev.SystemEvent(*whose(), subtype, Raw(msgspec.json.encode(data))))

    # --- everything else ------------------------------------------------------------------------

    @rule(forced=st.booleans())
    def agent_is_lost(self, forced: bool) -> None:
        self.entries = EntryStream()
        self.take(i.AgentLost(at=0, forced=forced))

    @rule(stopping=st.booleans())
    def server_falls(self, stopping: bool) -> None:
        self.entries = EntryStream()
        self.take(i.Recovered(at=0, stopping=stopping))

    @rule(which=IDS)
    def a_deadline_passes(self, which: int) -> None:
        self.take(i.DeadlinePassed(at=0, request_id=self.pick_request(which)))

    @rule()
    def a_stop_is_overdue(self) -> None:
        self.take(i.StopOverdue(at=0, turn_id=self.model.state.turns))

    @rule(what=st.sampled_from([i.Left(at=0), i.Came(at=0), i.GraceOver(at=0)]))
    def people_come_and_go(self, what: i.Input) -> None:
        self.take(what)

    def teardown(self) -> None:
        self.model.finish()


TestConversations = Conversations.TestCase
TestConversations.settings = settings(max_examples=2000, stateful_step_count=30)
