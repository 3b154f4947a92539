"""Invariants about clients: compares the received frames with the log."""

from __future__ import annotations

from collections.abc import Iterator

from tests.engine.helpers.reconnecting_client import number_of
from tests.prove.helpers import journal as j
from tests.prove.helpers.delays import outages_of
from tests.prove.helpers.history import Connection, History
from tests.prove.helpers.saving import Saves
from tests.prove.helpers.witness_agent import work_key
from turnwire.core.partials import BlockName
from turnwire.core.view import View
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import decode, encode
from turnwire.dialects.v2.entry_frames import frame_of
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.dialects.v2.view_reducer import ViewReducer


def persist_before_publish(history: History) -> Iterator[str]:
    """Every entry that a client received is in the log, and was committed before."""
    for client, connections in history.clients.items():
        for connection in connections:
            log = history.logs[connection.came.talk]
            entries = {entry.sequence: entry for entry in log.entries}
            for received in connection.received:
                frame = received.frame
                event = frame.payload.event if isinstance(frame, f.MessageReplay) else frame
                number = number_of(event)  # type: ignore[arg-type]  # ours are all known
                if received.on_disk is False:
                    yield f"{client} received number {number} of {log.name} before it was written"
                if number is not None:
                    entry = entries.get(number)
                    if entry is None:
                        yield f"{client} received number {number} of {log.name}, which is not there"
                        continue
                    kept = frame_of(entry.message, number, log.name, entry.trace_id)
                    if encode(kept).replayed() != encode(event).replayed():
                        yield f"{client} received another number {number} of {log.name}"
                elif isinstance(event, f.AssistantComplete):
                    end = log.ends.get(event.turn_id or 0)
                    if end != event.payload:
                        yield f"{client} was told an end of turn {event.turn_id} of {log.name}"


def contiguous(history: History) -> Iterator[str]:
    """A client's copy is one contiguous piece of the log, over all of its connections."""
    for client, connections in history.clients.items():
        cursor = 0
        for connection in connections:
            came = connection.came
            if cursor and (came.last_sequence or 0) != cursor:
                yield f"{client} had {cursor} of {came.talk} and came with {came.last_sequence}"
            cursor = came.last_sequence or 0
            for frame in connection.frames:
                if isinstance(frame, f.SessionReset):
                    cursor = frame.payload.first - 1
                number = number_of(frame)
                if number is not None:
                    if number != cursor + 1:
                        yield f"{client}: {number} follows {cursor} in {came.talk}"
                    cursor = number


def seam(history: History) -> Iterator[str]:
    """Every connection keeps the rules of the protocol, and all clients have the same view in the end."""
    shown: dict[str, View] = {}
    for client, connections in reversed(history.clients.items()):
        check, number = SessionCheck(), 0
        for connection in connections:
            for received in connection.received:
                number += 1
                check.feed(received.raw, number)
        for broken in check.report().violations:
            yield f"{client}: {broken.code} at {broken.line}: {broken.message}"
        talk = connections[0].came.talk
        if _is_complete(history, connections):
            view = _view(connections)
            newest = shown.setdefault(talk, view)
            if (view.messages, view.turns) != (newest.messages, newest.turns):
                yield f"{client} shows something else of {talk} than a newcomer does"


def _is_complete(history: History, connections: list[Connection]) -> bool:
    first = connections[0].came
    if first.last_sequence is not None or not history.is_over:
        return False
    head = history.logs[first.talk].head
    return any((s.client, s.head) == (first.client, head) for s in history.of(j.Satisfied))


def _view(connections: list[Connection]) -> View:
    reducer = ViewReducer()
    for connection in connections:
        for frame in connection.frames:
            reducer.apply(frame)  # type: ignore[arg-type]  # a server's frame is one
    return reducer.view()


def shown_stays(history: History) -> Iterator[str]:
    """Text that its server had the time to save is in the log after a crash, once."""
    texts = {name: log.texts() for name, log in history.logs.items()}
    void = {name for line in history.of(j.Said) for name in line.discarded}
    for client, block, talk, shown in _shown_for_long(history):
        kept = texts[talk].get(block, [])
        if block[0] not in void and not any(text.startswith(shown) for text in kept):
            yield f"{client} has read {len(shown)} characters of {block} of {talk}: {kept[:1]}"
    for log in history.logs.values():
        for block, kept in texts[log.name].items():
            if len(kept) > 1:
                yield f"{log.name} has {block} {len(kept)} times"
        if history.is_over and log.partials:
            yield f"{log.name} is at rest, and has {log.partials} saved"


def _shown_for_long(history: History) -> Iterator[tuple[str, BlockName, str, str]]:
    """Client, block, conversation, and the text that was shown long enough before a kill to be saved."""
    came = {(line.client, line.connection): line for line in history.of(j.Came)}
    shown_by = _servers_of_messages(history) if history.has_nodes else {}
    killed = {line.pid for line in history.of(j.Killed)}
    for began in history.of(j.Began):
        if began.pid not in killed:
            continue
        saves = Saves(history.lines, began, outages_of(history, began.pid))
        seen: dict[tuple[str, BlockName], str] = {}
        for line in history.of(j.Got):
            client = came[line.client, line.connection]
            # Of several nodes, the clients of others may follow the one that was killed.
            if not history.has_nodes and client.server != began.pid:
                continue
            if not saves.have_to_hold(client.talk, line.at):
                continue
            frame = decode(bytes(line.frame))
            if isinstance(frame, f.AssistantChunk | f.AssistantThinking) and frame.payload.partial:
                said = frame.payload
                work = said.message_id.rpartition("_")[0]
                if history.has_nodes and shown_by.get(work) != began.pid:
                    continue
                key = (line.client, (said.message_id, said.index))
                seen[key] = ("" if said.snapshot else seen.get(key, "")) + said.text
        for (name, block), shown in seen.items():
            yield name, block, history.clients[name][0].came.talk, shown


def _servers_of_messages(history: History) -> dict[str, int]:
    """Returns the server of each agent that had a prompt, by the beginning of its messages' ids."""
    return {
        f"msg_{work_key(line.talk, line.turn, line.session)}": history.sessions[line.session].server
        for line in history.of(j.Handed)
        if line.turn is not None
    }


def the_bus_is_a_hint(history: History) -> Iterator[str]:
    """A client that follows from another engine gets every entry without the bus."""
    killed = {line.pid for line in history.of(j.Killed)}
    if not history.servers or list(history.servers)[-1] in killed:
        return  # it may not have had the time
    last = list(history.servers)[-1]
    if history.has_nodes:  # the node that was the last to end in order
        last = history.of(j.Ended)[-1].pid if history.of(j.Ended) else 0
    for client, connections in history.clients.items():
        if client.startswith("eve") and connections[-1].came.server == last:
            cursor = max((number_of(f) or 0 for c in connections for f in c.frames), default=0)
            head = history.logs[connections[0].came.talk].head
            if cursor < head:
                yield f"{client} heard nothing of the bus and has {cursor} of {head} entries"


def epoch(history: History) -> Iterator[str]:
    """Only a client with a cursor of another log, or beyond this one, is reset."""
    for client, connections in history.clients.items():
        for connection in connections:
            if not connection.received:
                continue
            hello = connection.received[0].frame
            came = connection.came
            if hello.payload.epoch != history.epoch:
                yield f"{client} was told of the epoch {hello.payload.epoch}"
            wanted = None
            if came.epoch is not None and came.epoch != history.epoch:
                wanted = "epoch"
            elif (came.last_sequence or 0) > hello.payload.head:
                wanted = "beyond_head"
            told = [
                frame.payload.reason
                for frame in connection.frames
                if isinstance(frame, f.SessionReset)
            ]
            if len(connection.received) > 1 and told != ([wanted] if wanted else []):
                yield f"{client} came to {came.talk} and was reset {told}, not {wanted}"
