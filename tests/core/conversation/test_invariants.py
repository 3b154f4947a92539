"""The guarantees hold for random inputs in random order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import currently_in_test_context, given, note, settings
from hypothesis import strategies as st

from tests.core.conversation.helpers.driver import command_line, whose
from tests.core.conversation.helpers.guarantee_model import Model
from tests.core.conversation.helpers.v2_watcher import Watcher
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import TextContent
from turnwire.core.conversation import Options
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import needs_recovery
from turnwire.core.entries import EntryStream

T = TypeVar("T")

OPTIONS = [
    Options(max_queue=2),
    Options(max_queue=2, on_disconnect="continue"),
    Options(max_queue=0),
    Options(question_seconds=60, permission_seconds=60),
    Options(question_seconds=60, question_policy="default", question_default="blue"),
    Options(question_seconds=60, question_policy="wait", questions_survive=True),
]


class World:
    """People, an agent that keeps few rules, and a server that may fall at any moment.

    Each thing that can happen takes what it has to choose from one number. That is much faster than
    Hypothesis' own state machines, and shrinks as well.
    """

    def __init__(self, options: Options) -> None:
        self.model = Model(options)
        self.ids = 0
        self.tools: list[str] = []
        self.voices: dict[str, str | None] = {}  # whose calls they are
        self.requests: list[str] = []
        self.number = 0

    def choose(self, choices: list[T]) -> T:
        """Returns one of these, chosen by the number."""
        self.number, which = divmod(self.number, len(choices))
        return choices[which]

    def maybe(self) -> bool:
        """Yes or no, by the number."""
        return self.choose([False, True])

    def new_id(self, kind: str) -> str:
        self.ids += 1
        return f"{kind}{self.ids}"

    def new_trace(self) -> str:
        self.ids += 1
        return f"{self.ids:032x}"

    def take(self, happened: i.Input) -> None:
        if currently_in_test_context():
            note(happened)  # it writes it down only if that is needed
        self.model.take(happened)

    # --- people ---------------------------------------------------------------------------------

    def someone_speaks(self) -> None:
        queue_id = self.new_id("q")
        self.take(
            i.Said(
                at=0,
                content=[TextContent("Hello")],
                queue_id=queue_id,
                client_message_id=queue_id,
                trace_id=self.new_trace(),
            )
        )

    def someone_changes_the_queue(self) -> None:
        queue = self.model.queue or ["q-unknown"]
        actions: list[Any] = ["remove", "replace", "move", "resume"]
        self.take(
            i.ChangedQueue(
                at=0,
                action=self.choose(actions),
                queue_id=self.choose(queue),
                content=[TextContent("Else")],
                before=self.choose([None, *queue]),
            )
        )

    def someone_answers(self) -> None:
        question_id, resume = self.pick_request(), self.maybe()
        self.take(i.Answered(at=0, question_id=question_id, answer="blue", resume_task=resume))

    def someone_decides(self) -> None:
        decisions: list[Any] = ["allow", "deny"]
        request_id = self.pick_request()
        self.take(i.Decided(at=0, request_id=request_id, decision=self.choose(decisions)))

    def someone_stops(self) -> None:
        fates: list[Any] = ["hold", "continue", "clear"]
        turn_id = self.model.state.turns - self.choose([0, 0, 1])
        self.take(i.Interrupted(at=0, turn_id=turn_id, queue=self.choose(fates)))

    def pick_request(self) -> str:
        """Returns an open request, if there is one."""
        ids = [request.request_id for request in self.model.state.requests]
        return self.choose(ids or self.requests or ["none"])

    # --- the agent ------------------------------------------------------------------------------

    def hear(self, *events: ev.NormalizedStreamEvent) -> None:
        for number, event in enumerate(events, 1):
            self.take(
                i.AgentSaid(
                    at=0,
                    event=event,
                    entries=EntryStream().feed(event, run_id="", now=""),
                    trace_id=self.new_trace(),
                    last=number == len(events) or not isinstance(events[number], ev.ResultSummary),
                )
            )

    def pick_voice(self) -> str | None:
        """The agent itself, or one that works for one of its latest calls."""
        heard = [tool for tool in self.tools if tool in self.model.calls]
        return self.choose([None, *heard[-3:]])

    def pick_call(self) -> str:
        """A call that is open, or got its result from us: an agent may speak of it again."""
        known = [*self.model.state.tools, *self.model.state.closed]
        return self.choose(known) if known else self.new_call()

    def new_call(self, voice: str | None = None) -> str:
        tool = self.new_id("t")
        self.tools.append(tool)
        self.voices[tool] = voice
        return tool

    def say(self, voice: str | None, block: ContentBlock) -> None:
        self.hear(ev.AssistantMessage(*whose(voice), self.new_id("msg"), 0, [block]))

    def agent_starts(self) -> None:
        self.hear(ev.TurnStarted(*whose()))

    def agent_speaks(self) -> None:
        self.say(self.pick_voice(), TextBlock("Hi", "completed"))

    def agent_calls(self) -> None:
        voice = self.pick_voice()
        self.say(voice, ToolUseBlock(self.new_call(voice), "Bash", "TOOL", {}, "completed"))

    def agent_calls_again(self) -> None:
        self.say(None, ToolUseBlock(self.pick_call(), "Bash", "TOOL", {}, "completed"))

    def agent_gets_a_result(self) -> None:
        if self.tools:
            tool = self.choose(self.tools)
            block = ToolResultBlock(tool, "done", False, "completed")
            self.hear(ev.UserMessage(*whose(self.voices.get(tool)), [block], "tool"))

    def agent_calls_a_question(self) -> None:
        voice = self.pick_voice()
        tool = self.new_call(voice)
        self.requests.append(tool)
        self.say(voice, ToolUseBlock(tool, "request_input", "TOOL", {}, "completed"))

    def agent_waits_for_an_answer(self) -> None:
        voice = self.pick_voice()
        tool = self.new_call(voice) if self.maybe() else self.pick_call()
        self.requests.append(tool)
        self.hear(ev.QuestionAsked(*whose(voice), self.new_id("r"), tool, "request_input", []))

    def agent_wants(self) -> None:
        request_id, voice, tool = self.new_id("p"), self.pick_voice(), self.pick_call()
        self.requests.append(request_id)
        self.hear(ev.PermissionRequested(*whose(voice), request_id, tool, "Bash", {}))

    def agent_withdraws(self) -> None:
        theirs = [*self.model.state.asked, "none"]
        self.hear(ev.RequestWithdrawn(*whose(), self.choose(theirs)))

    def agent_ends(self) -> None:
        origin = self.choose([None, None, None, "task-notification"])
        deferred = self.choose([None, None, "t1"])
        end = ev.TurnCompleted(*whose(), "end_turn", self.maybe(), deferred, origin)
        result = ev.ResultSummary(*whose(), "success", False, cost_usd=1.0)
        if self.maybe():
            self.hear(end, result)
        else:
            self.hear(end)

    def agent_fails(self) -> None:
        event = ev.TurnFailed(*whose(), "api_error", "It went wrong.")
        self.take(i.AgentSaid(at=0, event=event, last=self.maybe()))

    def agent_has_news(self) -> None:
        known = [*self.model.state.tools, *self.model.state.closed]
        task = ev.Task(self.choose(["task1", "task2"]), self.choose([None, *known]))
        who = (*whose(), "news")
        news: list[ev.SystemEvent] = [
            ev.TaskChanged(*who, task=task, in_background=True),
            ev.TaskEnded(*who, task=task),
            ev.TasksListed(*who, tasks=[ev.Task("task2")]),
            ev.AgentIdle(*who),
        ]
        self.hear(self.choose(news))

    # --- everything else ------------------------------------------------------------------------

    def agent_is_lost(self) -> None:
        self.take(i.AgentLost(at=0, forced=self.maybe()))

    def server_falls(self) -> None:
        stopping = self.maybe()
        self.take(i.Recovered(at=0, stopping=stopping))
        if stopping and needs_recovery(self.model.state):  # so the next server begins
            self.take(i.Recovered(at=0))

    def a_deadline_passes(self) -> None:
        self.take(i.DeadlinePassed(at=60_000, request_id=self.pick_request()))

    def a_stop_is_overdue(self) -> None:
        self.take(i.StopOverdue(at=0, turn_id=self.model.state.turns))

    def people_come_and_go(self) -> None:
        happenings: list[i.Input] = [i.Left(at=0), i.Came(at=0), i.GraceOver(at=0)]
        self.take(self.choose(happenings))


THINGS: list[Callable[[World], None]] = [
    World.someone_speaks,
    World.someone_changes_the_queue,
    World.someone_answers,
    World.someone_decides,
    World.someone_stops,
    World.agent_starts,
    World.agent_speaks,
    World.agent_calls,
    World.agent_calls_again,
    World.agent_gets_a_result,
    World.agent_calls_a_question,
    World.agent_waits_for_an_answer,
    World.agent_wants,
    World.agent_withdraws,
    World.agent_ends,
    World.agent_fails,
    World.agent_has_news,
    World.agent_is_lost,
    World.server_falls,
    World.a_deadline_passes,
    World.a_stop_is_overdue,
    World.people_come_and_go,
]


STORIES = (
    st.sampled_from(OPTIONS),
    # A few things often lead further than all of them seldom do.
    st.lists(st.sampled_from(THINGS), min_size=4, max_size=12),
    st.binary(min_size=3 * 20, max_size=3 * 50),  # three bytes for each thing that happens
)


@settings(max_examples=2000)
@given(*STORIES)
def test_every_promise_holds_after_every_step(
    options: Options, things: list[Callable[[World], None]], steps: bytes
) -> None:
    live(World(options), things, steps)


@settings(max_examples=300)
@given(*STORIES)
def test_the_frames_of_clients_break_no_rule_of_the_protocol(
    options: Options, things: list[Callable[[World], None]], steps: bytes
) -> None:
    world = World(options)
    watcher = world.model.watcher = Watcher(world.model.state)
    live(world, things, steps)
    assert watcher.broken_rules() == []


def test_messages_queued_after_an_undelivered_answer_are_shown_as_held() -> None:
    world = World(Options())
    watcher = world.model.watcher = Watcher(world.model.state)
    for happens in [
        World.someone_speaks,
        World.agent_starts,
        World.agent_calls_a_question,
        World.someone_answers,
        World.agent_is_lost,
        World.someone_speaks,
    ]:
        happens(world)
    world.number = 1  # a helper, that is, whose question is gone with the agent
    world.agent_calls_a_question()
    world.agent_is_lost()
    assert world.model.state.held
    assert watcher.broken_rules() == []


def test_a_turn_that_begins_again_with_another_agent_is_announced() -> None:
    world = World(Options())
    watcher = world.model.watcher = Watcher(world.model.state)
    world.someone_speaks()
    world.agent_calls_a_question()
    world.agent_gets_a_result()
    world.number = 1  # a helper
    world.agent_calls_a_question()
    world.hear(ev.TurnCompleted(*whose(), "end_turn", interrupted=True, origin="task-notification"))
    world.take(i.AgentLost(at=0, forced=True))  # for the sake of an earlier turn
    assert (world.model.state.turn is not None, world.model.state.state) == (True, "active")
    assert watcher.broken_rules() == []


def test_a_later_client_knows_earlier_requests_from_the_state() -> None:
    world = World(Options())
    for happens in (World.someone_speaks, World.agent_starts, World.agent_calls_a_question):
        happens(world)
    world.agent_wants()
    state = world.model.state
    assert [request.kind for request in state.requests] == ["question", "permission"]
    watcher = world.model.watcher = Watcher(state, cursor=state.head)
    world.someone_answers()
    for _ in range(2):
        world.agent_speaks()  # while the permission is still open
    assert watcher.broken_rules() == []


def test_a_task_of_a_call_made_outside_of_any_turn_belongs_to_no_turn() -> None:
    world = World(Options())
    watcher = world.model.watcher = Watcher(world.model.state)
    world.agent_calls()
    world.agent_starts()
    failed = ev.TurnFailed(*whose(), "api_error", "It went wrong.")
    world.take(i.AgentSaid(at=0, event=failed, last=False))
    start_task(world, world.tools[0])  # this news ends the turn, which gives the call its result
    assert [task.turn_id for task in world.model.state.background] == [None]
    assert watcher.broken_rules() == []


def test_a_task_of_a_call_that_ended_with_its_turn_belongs_to_that_turn() -> None:
    world = World(Options())
    watcher = world.model.watcher = Watcher(world.model.state)
    world.someone_speaks()
    world.agent_starts()
    world.agent_calls()
    for _ in range(3):
        world.hear(ev.TurnCompleted(*whose(), "end_turn"))
        world.agent_starts()
    start_task(world, world.tools[0])
    assert [task.turn_id for task in world.model.state.background] == [1]
    assert watcher.broken_rules() == []


def test_a_call_that_gets_its_answer_as_its_result_waits_for_no_permission() -> None:
    world = World(Options(question_seconds=60, question_policy="default", question_default="blue"))
    watcher = world.model.watcher = Watcher(world.model.state)
    for happens in (
        World.someone_speaks,
        World.agent_starts,
        World.agent_calls,
        World.agent_gets_a_result,
    ):
        happens(world)
    world.number = 1  # a helper in the background: its calls stay open when the turn ends
    world.agent_calls_a_question()
    world.agent_wants()
    world.a_deadline_passes()
    assert [request.kind for request in world.model.state.requests] == ["permission"]
    failed = ev.TurnFailed(*whose(), "api_error", "It went wrong.")
    effects = world.model.take(i.AgentSaid(at=0, event=failed, last=True))
    assert effects is not None
    assert world.model.state.requests == []
    assert [command_line(command) for command in effects.commands] == [
        f"deliver {world.requests[-1]}=deny"
    ]
    assert watcher.broken_rules() == []


def start_task(world: World, tool_use_id: str) -> None:
    task = ev.Task("task1", tool_use_id)
    world.hear(ev.TaskChanged(*whose(), "news", task=task, in_background=True))


def live(world: World, things: list[Callable[[World], None]], steps: bytes) -> None:
    """Plays all inputs, then the end."""
    things = [World.someone_speaks, World.agent_starts, *things]  # nothing comes without these
    for place in range(0, len(steps), 3):
        world.number = int.from_bytes(steps[place : place + 3], "big")
        if world.number:  # zero is nothing, so that a long story can shrink
            world.choose(things)(world)
    world.model.finish()
