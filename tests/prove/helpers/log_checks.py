"""Invariants about the log: compares it with the answers to people and the calls of agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.engine.helpers.reconnecting_client import check_queue
from tests.prove.helpers import journal as j
from tests.prove.helpers.delays import RunningTime, outages_of
from tests.prove.helpers.history import History, TalkLog
from tests.prove.helpers.witness_agent import work_key
from turnwire.core.message import ToolCallPart, ToolResultPart, known_meta
from turnwire.dialects.v2 import frames as f

_TOO_LATE = {
    "answered": "DUPLICATE_INPUT_RESPONSE",
    "expired": "INPUT_TIMEOUT",
    "cancelled": "CONVERSATION_INTERRUPTED",
}
STOP_SECONDS = 5.0  # an agent's grace, and the guard's
TRUTH_SECONDS = 2.0  # after the lease; on a machine that has more to do than it can, longer


def dense(history: History) -> Iterator[str]:
    """The numbers of a log are 1, 2, 3, ... and its head is the last of them."""
    for log in history.logs.values():
        numbers = [entry.sequence for entry in log.entries]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"{log.name} has the numbers {numbers}"
        if not log.head == log.state.head == len(numbers):
            yield f"{log.name} has {len(numbers)} entries, and its head is {log.head}"


def ack_means_durable(history: History) -> Iterator[str]:
    """Every acknowledged message is in the log once, and was run once."""
    for log in history.logs.values():
        told = [line for line in history.of(j.Told) if line.talk == log.name]
        for line in told:
            if line.ack is not None and log.receipts.get(line.name) != line.ack:
                yield f"{log.name}: {line.name} was acknowledged and has no such receipt"
        yield from _said_once(history, log, told)
        yield from _worked_on_once(history, log)
        yield from _taken_once(history, log, told)


def _said_once(history: History, log: TalkLog, told: list[j.Told]) -> Iterator[str]:
    said = log.said_by_people()
    counts = Counter(name for name, _ in said)
    turns = dict(said)
    waiting = {w.item.client_message_id: w for w in log.state.queue}
    asked = {line.name for line in history.of(j.Asked) if line.talk == log.name}
    for name, count in counts.items():
        if count > 1:
            yield f"{log.name}: {name} is in the log {count} times"
        if name not in asked:
            yield f"{log.name}: {name} was never sent"
    for line in told:
        if line.kind != "send" or line.ack is None:
            continue
        turn_id, queue_id = line.ack.get("turn_id"), line.ack.get("queue_id")
        if queue_id is None and turns.get(line.name) != turn_id:
            yield f"{log.name}: {line.name} was acknowledged as turn {turn_id} and is not there"
        is_there = line.name in counts or line.name in waiting
        if queue_id is not None and is_there is (queue_id in log.removed):
            yield f"{log.name}: {line.name} was acknowledged and is lost"


def _worked_on_once(history: History, log: TalkLog) -> Iterator[str]:
    """A turn may be handed over again after a crash, but the log has the work of one agent on it."""
    handed: dict[int, list[str]] = {}
    for line in history.of(j.Handed):
        if line.talk == log.name and line.turn is not None:
            handed.setdefault(line.turn, []).append(line.session)
    for turn_id, sessions in handed.items():
        if len(set(sessions)) != len(sessions):
            yield f"{log.name}: turn {turn_id} was handed to one agent twice"
        # The agent may have sent other events first in the same turn.
        begin = {session: f"msg_{work_key(log.name, turn_id, session)}_" for session in sessions}
        said = [known_meta(e.message).message_id or "" for e in log.entries]
        workers = [n for n, key in begin.items() if any(name.startswith(key) for name in said)]
        if len(workers) > 1:
            yield f"{log.name}: turn {turn_id} is the work of {len(workers)} agents"
    for turn_id, end in log.ends.items():
        if not (end.interrupted or end.is_error or end.origin == "agent" or turn_id in handed):
            yield f"{log.name}: turn {turn_id} has ended well, and no agent ever had it"


def _taken_once(history: History, log: TalkLog, told: list[j.Told]) -> Iterator[str]:
    """A message that an agent has taken into a turn is not sent to it again.

    An agent in the process of an expelled node is not ended from outside: it may take a message
    until the process notices, and what it does then is in no log.
    """
    taken = Counter(
        line.message
        for line in history.of(j.Took)
        if line.talk == log.name
        and not history.writers.is_expelled(
            history.sessions[line.session].server, log.name, line.at
        )
    )
    handed = [line for line in history.of(j.Handed) if line.talk == log.name]
    turns = dict(log.said_by_people())
    for line in told:
        ack = line.ack or {}
        queue_id = str(ack.get("queue_id"))
        if line.kind != "send" or queue_id not in taken:
            continue
        if taken[queue_id] > 1:
            yield f"{log.name}: {line.name} was taken {taken[queue_id]} times"
        turn_id = turns.get(line.name)
        if turn_id == ack.get("turn_id"):
            continue  # the log has it in the turn that took it
        if any(each.turn == turn_id and not each.is_known for each in handed):
            yield f"{log.name}: {line.name} was taken, and turn {turn_id} sent it again"


def bounded_queue(history: History) -> Iterator[str]:
    """A refused message leaves no trace; queued messages run in order."""
    for log in history.logs.values():
        told = [line for line in history.of(j.Told) if line.talk == log.name]
        asked = Counter(line.name for line in history.of(j.Asked) if line.talk == log.name)
        answered = Counter(line.name for line in told)
        said = [name for name, _ in log.said_by_people()]
        kept = {*said, *(w.item.client_message_id for w in log.state.queue)}
        acked = {line.name for line in told if line.ack is not None}
        for line in told:
            unknown = asked[line.name] > answered[line.name]  # a command got no answer
            if line.code == "TURN_QUEUE_FULL" and line.name in kept - acked and not unknown:
                yield f"{log.name}: {line.name} was refused and is there all the same"
        yield from _in_order(log, told, said)
    for client, connections in history.clients.items():
        most = history.logs[connections[0].came.talk].state.options.max_queue + 1
        for connection in connections:
            # A started message may wait again in addition to a full queue.
            for frame in connection.frames:
                if isinstance(frame, f.SessionState) and len(frame.payload.queue) > most:
                    yield f"{client} saw {len(frame.payload.queue)} messages wait"
            try:
                check_queue(connection.frames)
            except AssertionError as wrong:
                yield f"{client}: {str(wrong).splitlines()[0]}"


def _in_order(log: TalkLog, told: list[j.Told], said: list[str]) -> Iterator[str]:
    moved = {
        line.about[1]
        for line in told
        if line.kind == "queue" and line.about[0] in ("move", "resume")
    }
    accepted = [line for line in told if line.kind == "send" and line.ack is not None]
    acks = [(line.name, line.ack or {}) for line in accepted]
    # With both ids it was on its way into a running turn, past the queue. An id may also be None.
    queued = [(name, ack) for name, ack in acks if not (ack.get("turn_id") and ack.get("queue_id"))]
    unmoved = [name for name, ack in queued if ack.get("queue_id") not in moved]
    order = [name for name in dict.fromkeys(unmoved) if name in said]
    ran = [name for name in said if name in order]
    if ran != order:
        yield f"{log.name}: they were accepted as {order} and ran as {ran}"


def one_writer(history: History) -> Iterator[str]:
    """After the output of an agent is written, no earlier agent and no earlier server writes."""
    for log in history.logs.values():
        newest, newest_agent = -1, 0.0
        for entry in log.entries:
            speakers = history.speakers.get(known_meta(entry.message).message_id or "", set())
            agents = [history.sessions[name] for name in speakers]
            by = [history.servers.get(agent.server, -1) for agent in agents]
            # Of several nodes, an earlier one may take over from a later one.
            if by and max(by) < newest and not history.has_nodes:
                yield f"{log.name}: number {entry.sequence} is of a server that had lost it"
            newest = max([newest, *by])
            opened = [agent.at for agent in agents]
            if opened and max(opened) < newest_agent:
                yield f"{log.name}: number {entry.sequence} is of an agent that had lost it"
            newest_agent = max([newest_agent, *opened])


def no_orphan(history: History) -> Iterator[str]:
    """No process of an agent outlives its server."""
    for line in history.of(j.Left):
        yield f"the processes {line.pids} were left behind"


def tool_closure(history: History) -> Iterator[str]:
    """Every call has one result, and no result is an invented success."""
    real = {call for line in history.of(j.Said) for call, error in line.results if not error}
    for log in history.logs.values():
        answered = {line.about for line in history.of(j.Told) if line.kind == "answer" and line.ack}
        calls: Counter[str] = Counter()
        results: Counter[str] = Counter()
        for entry in log.entries:
            for part in entry.message.parts:
                if isinstance(part, ToolCallPart):
                    calls[part.payload.tool_call_id] += 1
                elif isinstance(part, ToolResultPart):
                    call = part.payload.tool_call_id
                    results[call] += 1
                    if not calls[call]:
                        yield f"{log.name}: {call} has a result and was never called"
                    if not part.payload.is_error and call not in real | answered:
                        yield f"{log.name}: the success of {call} is made up"
        for call, count in [*calls.items(), *results.items()]:
            if count > 1:
                yield f"{log.name}: {call} is there {count} times"
        suspended = {r.request_id for r in log.state.requests if r.kind == "question"}
        suspended |= {reply.request_id for reply in log.state.replies}
        for call in calls.keys() - results.keys() - suspended:
            yield f"{log.name}: {call} has no result"


def asked_once(history: History) -> Iterator[str]:
    """A request ends once, by one answer, and late answers get the reason."""
    for log in history.logs.values():
        resolved = log.events("request_resolved")
        ended = Counter(data["request_id"] for data in resolved)
        outcomes = {data["request_id"]: data["outcome"] for data in resolved}
        for request_id, count in ended.items():
            if count > 1:
                yield f"{log.name}: {request_id} ended {count} times"
        for request in log.requests:
            request_id, outcome = request.request_id, request.outcome
            if outcome != outcomes.get(request_id):
                yield f"{log.name}: {request_id} is {outcome} and was told {outcomes.get(request_id)}"
            if request.in_inbox is (outcome is not None):
                yield f"{log.name}: {request_id} is {outcome}, and the inbox does not know it"
        told = [
            line
            for line in history.of(j.Told)
            if line.talk == log.name and line.kind in ("answer", "decide")
        ]
        answers = {line.name for line in told if line.ack is not None}
        for request_id, count in Counter(
            line.about for line in told if line.name in answers and not line.duplicate and line.ack
        ).items():
            if count > 1:
                yield f"{log.name}: {count} people gave the answer to {request_id}"
        for line in told:
            expected = _TOO_LATE.get(outcomes.get(line.about, ""))
            if line.name.startswith("late") and line.code != expected:
                yield f"{log.name}: a late answer to {line.about} was told {line.code}"


def truthful_state(history: History) -> Iterator[str]:
    """Without a server nothing runs, and a new server recovers what a crashed one has left."""
    killed = {line.pid for line in history.of(j.Killed)}
    recovered = {line.pid: line.at for line in history.of(j.Recovered)}
    ended = {line.pid for line in history.of(j.Ended)}
    for began in history.of(j.Began):
        done = recovered.get(began.pid)
        if done is None and began.pid in ended:
            yield f"the server {began.pid} left untrue what it had found"
        elif done is not None:
            running = RunningTime(history.lines, began.pid)
            took = running.seconds(began.at, done, outages_of(history, began.pid))
            # Of several nodes, one may die while it takes over from another: both leases have to end.
            leases = began.lease * (2 if began.node else 1)
            if took > leases + TRUTH_SECONDS * began.load:
                yield f"the server {began.pid} took {took:.1f} s to the truth"
        if began.pid not in killed | ended:
            why = [line.why for line in history.of(j.Failed) if line.pid == began.pid]
            yield f"the server {began.pid} was not killed, and did not finish: {why}"
    if not history.is_over:
        return
    for log in history.logs.values():
        c = log.state
        if c.turn is not None and c.turn.phase != "suspended":
            yield f"{log.name} says that turn {c.turn.turn_id} runs"
        if c.state == "streaming" or (c.state == "waiting_input") is not bool(c.requests):
            yield f"{log.name} says {c.state}, with {len(c.requests)} requests open"
        if c.background:
            yield f"{log.name} says that background work goes on"
        known = {turn.turn_id for turn in log.turns}
        for turn_id in known - log.ends.keys() - {c.turn.turn_id if c.turn else None}:
            yield f"{log.name}: turn {turn_id} has no end"


def interrupt_ends(history: History) -> Iterator[str]:
    """A turn that was asked to stop has stopped, in time."""
    began = [line.at for line in history.lines if isinstance(line, j.Began | j.Resumed)]
    slow = max((line.load for line in history.of(j.Began)), default=1.0)
    seen: dict[tuple[str, int | None], float] = {}
    for connections in history.clients.values():
        for connection in connections:
            for received in connection.received:
                if isinstance(received.frame, f.AssistantComplete):
                    key = (connection.came.talk, received.frame.turn_id)
                    seen[key] = min(seen.get(key, received.at), received.at)
    for line in history.of(j.Told):
        if line.kind != "stop" or line.ack is None or line.ack.get("outcome") != "requested":
            continue
        end = seen.get((line.talk, line.about))
        if end is None:
            if history.of(j.Failed) or line.about not in history.logs[line.talk].ends:
                yield f"{line.talk}: turn {line.about} was stopped, and its end was not seen"
            continue
        since = max([line.at, *(at for at in began if line.at < at < end)])
        if end - since > STOP_SECONDS * slow:
            yield f"{line.talk}: turn {line.about} took {end - since:.1f} s to stop"
