"""The state of a client of the profile `classic` in one conversation."""

from __future__ import annotations

from turnwire.core import happenings as h
from turnwire.core.status import OpenRequest
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.classic import frames as f
from turnwire.dialects.rpc.classic import requests
from turnwire.dialects.rpc.messages import RpcErrorMessage, RpcResultMessage
from turnwire.dialects.rpc.projector import Line
from turnwire.engine import Answer, Talk
from turnwire.server.rpc.stay import Stay, complete
from turnwire.server.rpc.written import Written

__all__ = ["ClassicStay"]

_REMOVED = "The message was taken out of the queue before its turn came."


class ClassicStay(Stay):
    """The queries and server calls of one client, from `connect` to `disconnect`.

    The client shows all messages as parts of its own query, if it has one. So it gets no messages
    of other turns meanwhile.
    """

    def __init__(self, talk: Talk, call_id: str, connection_id: str, *, has_partials: bool) -> None:
        wish = m.Connect(include_partial_messages=has_partials)
        super().__init__(talk, call_id, wish, connection_id)
        self._wanted |= {"prompt"}
        self._interrupts: dict[int, list[str]] = {}  # turn_id to the open calls of `interrupt`

    # --- queries ----------------------------------------------------------------------------------

    def accepted(self, call_id: str, answer: Answer, running: int | None) -> list[Written]:
        """Registers the stream of a query. Its `complete` is the only answer."""
        super().accepted(call_id, answer, running)
        return []

    @property
    def waiting(self) -> list[str]:
        """Returns the queue ids of the queries that wait for their turn."""
        return [*self._waiting]

    def stop_waiting(self, queue_id: str) -> list[Written]:
        """Ends the stream of a query that this client has taken out of the queue."""
        call_id = self._waiting.pop(queue_id, None)
        return [] if call_id is None else [complete(call_id)]

    def interrupts(self, turn_id: int, call_id: str) -> None:
        """Registers an interrupt, which is answered at the end of the turn."""
        self._interrupts.setdefault(turn_id, []).append(call_id)

    def drop_interrupt(self, turn_id: int, call_id: str) -> bool:
        """Removes an interrupt that did not take effect. Returns False if it is answered."""
        calls = self._interrupts.get(turn_id, [])
        if call_id not in calls:
            return False
        calls.remove(call_id)
        return True

    def ends(self) -> list[Written]:
        """Returns the frames that complete all queries, and answer the open interrupts."""
        stopped = [each for calls in self._interrupts.values() for each in calls]
        queries = [*self._running.values(), *self._waiting.values()]
        return [*map(_interrupted, stopped), *map(complete, queries)]

    # --- lines of the projector -------------------------------------------------------------------

    def tell(self, lines: list[Line]) -> list[Written]:
        """Returns the frames for lines: the wanted messages, and the frames that news cause."""
        out: list[Written] = []
        heads = self._heads
        for line in lines:
            if line.news is not None:
                out += self._news(line.news, line)
            elif line.turn_id in heads:
                if line.kind in self._wanted and line.kind != "prompt":
                    out.append(Written(heads[line.turn_id], line))
            elif line.kind in self._wanted and not (heads or self._waiting):
                out.append(Written(self._head, line))
        return out

    def tell_first(self, line: Line) -> list[Written]:
        """Returns the frames for the state and the growing message. `getHistory` has the rest."""
        if isinstance(line.news, h.StateChanged) or line.kind == "grows":
            return self.tell([line])
        return []

    def _ended(self, line: Line) -> list[Written]:
        assert line.turn_id is not None
        stopped = self._interrupts.pop(line.turn_id, [])
        is_own = line.turn_id in self._running
        if stopped:  # the client shows the end of the turn with this answer
            out = [_interrupted(call_id) for call_id in stopped]
        elif is_own or not (self._heads or self._waiting):
            out = [self._message(line)]
        else:
            out = []
        if is_own:
            del self._heads[line.turn_id]
            out.append(complete(self._running.pop(line.turn_id)))
        return out

    def _removed(self, call_id: str) -> list[Written]:
        agent = self.talk.row.agent
        error = RpcErrorMessage(_REMOVED, agent, "QUEUE_ITEM_NOT_FOUND")
        result = RpcResultMessage(
            "error_during_execution", 0, 0, True, 0, "", agent, result=_REMOVED
        )
        told = [Written(r.write(r.Stream(call_id, each))) for each in (error, result)]
        return [*told, complete(call_id)]

    # --- server calls -----------------------------------------------------------------------------

    def _call(self, request: OpenRequest) -> Written:
        call_id = f"srv-{next(self._numbers)}"
        self._calls[call_id] = request
        return Written(r.write(requests.call_of(call_id, request)))

    def _withdrawn(self, call_id: str) -> list[Written]:
        return []  # the client waits for nothing

    def call_again(self, call_id: str) -> list[Written]:
        """Repeats a call whose reply was invalid: the client has closed it."""
        request = self._calls.pop(call_id, None)
        return [] if request is None else [self._call(request)]

    def read_reply(
        self, reply: r.Reply, request: OpenRequest
    ) -> m.QuestionReply | m.PermissionReply:
        """Returns the content of a client's answer. Raises Refused, with the `id`."""
        return requests.read_reply(reply, request)

    def answered(self, call_id: str) -> list[Written]:
        """Closes a server call whose reply was accepted. Nothing is sent."""
        super().answered(call_id)
        return []


def _interrupted(call_id: str) -> Written:
    return Written(r.write(f.Answer(call_id, f.Told("interrupted"), None)))
