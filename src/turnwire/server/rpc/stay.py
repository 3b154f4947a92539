"""The state of an RPC client in one conversation: the id of each stream, and open server calls."""

from __future__ import annotations

from itertools import count

from turnwire.core import happenings as h
from turnwire.core.status import OpenRequest, Status
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.messages import RpcErrorMessage
from turnwire.dialects.rpc.projector import Kind, Line, News, Steered
from turnwire.engine import Answer, Talk
from turnwire.server.rpc.written import Written

__all__ = ["Stay", "complete"]


class Stay:
    """The queries and server calls of one client, from `connect` to `disconnect`."""

    def __init__(self, talk: Talk, call_id: str, wish: m.Connect, connection_id: str) -> None:
        self.talk = talk
        self.call_id = call_id  # of `connect`; messages that belong to no query have this id
        self.connection_id = connection_id
        self.status: Status | None = None  # the last one that was published
        wanted: set[Kind] = {"whole"}
        if wish.include_partial_messages:
            wanted.add("grows")
        if wish.tool_progress != "off":
            wanted.add(wish.tool_progress)
        if wish.system_messages:
            wanted.add("system")
        self._wanted = frozenset(wanted)
        self._head = r.stream_head(call_id)
        self._heads: dict[int, bytes] = {}  # turn_id to the stream head of its query
        self._running: dict[int, str] = {}  # turn_id to call_id of its query
        self._waiting: dict[str, str] = {}  # queue_id to call_id of its query
        self._calls: dict[str, OpenRequest] = {}  # open server calls by id
        # Requests that this client has answered. The state may still list them as open.
        self._answered: set[str] = set()
        self._numbers = count(1)

    def has(self, call_id: str) -> bool:
        """Returns whether this id has an open stream."""
        return (
            call_id == self.call_id
            or call_id in self._running.values()
            or call_id in self._waiting.values()
        )

    # --- queries ----------------------------------------------------------------------------------

    def accepted(self, call_id: str, answer: Answer, running: int | None) -> list[Written]:
        """Returns the answer to a query that was accepted, and registers its stream.

        `running` is the running turn of a repeated query. A repeated query whose turn has ended is
        completed at once.
        """
        ack = answer.ack
        turn_id, queue_id = ack.turn_id, ack.queue_id
        told = r.Accepted(turn_id, queue_id, ack.held, answer.duplicate)
        out = [Written(r.write(r.Answer(call_id, told, None)))]
        if answer.duplicate:
            waits = {item.queue_id for item in self.status.queue} if self.status else set()
            if running is not None:
                turn_id, queue_id = running, None
            elif queue_id not in waits:
                return [*out, complete(call_id)]
        before: str | None = None
        if queue_id is not None:
            before = self._waiting.get(queue_id)
            self._waiting[queue_id] = call_id
        elif turn_id is not None:
            before = self._running.get(turn_id)
            self._run(turn_id, call_id)
        if before is not None:
            out.append(complete(before))  # the stream continues under the new id
        return out

    def _run(self, turn_id: int, call_id: str) -> None:
        self._running[turn_id] = call_id
        self._heads[turn_id] = r.stream_head(call_id)

    def ends(self) -> list[Written]:
        """Returns frames that cancel the open server calls, and complete all streams."""
        queries = [*self._running.values(), *self._waiting.values()]
        taken_back = [frame for call in self._calls for frame in self._withdrawn(call)]
        return [*taken_back, *map(complete, queries), complete(self.call_id)]

    # --- lines of the projector -------------------------------------------------------------------

    def tell(self, lines: list[Line]) -> list[Written]:
        """Returns the frames for lines: the wanted messages, and the frames that news cause."""
        out: list[Written] = []
        for line in lines:
            if line.news is not None:
                out += self._news(line.news, line)
            elif line.kind in self._wanted:
                out.append(self._message(line))
        return out

    def tell_first(self, line: Line) -> list[Written]:
        """Returns the frames for a line of the opening: an entry that was missed, or the state."""
        return self.tell([line])

    def _news(self, news: News, line: Line) -> list[Written]:
        match news:
            case h.TurnEnded():
                return self._ended(line)
            case h.TurnBegan(turn_id=turn_id, queue_id=queue_id):
                if queue_id is not None and queue_id in self._waiting:
                    self._run(turn_id, self._waiting.pop(queue_id))
                return []
            case Steered(queue_id=queue_id):  # its turn is in the stream of another query
                call_id = self._waiting.pop(queue_id, None)
                return [] if call_id is None else [complete(call_id)]
            case h.StateChanged(status=status):
                return self._changed(status)
            case _:  # the opening: `connect` is answered already
                return []

    def _message(self, line: Line) -> Written:
        turn_id = line.turn_id
        head = self._head if turn_id is None else self._heads.get(turn_id, self._head)
        return Written(head, line)

    def _ended(self, line: Line) -> list[Written]:
        out = [self._message(line)]
        assert line.turn_id is not None
        call_id = self._running.pop(line.turn_id, None)
        if call_id is not None:
            del self._heads[line.turn_id]
            out.append(complete(call_id))
        return out

    def _changed(self, status: Status) -> list[Written]:
        """Returns the frames for a new state: removed queries, cancelled calls and new calls."""
        self.status = status
        out: list[Written] = []
        waits = {item.queue_id for item in status.queue}
        for queue_id, call_id in list(self._waiting.items()):
            if queue_id not in waits:
                del self._waiting[queue_id]
                out += self._removed(call_id)
        is_open = {request.request_id for request in status.requests}
        for call_id, request in list(self._calls.items()):
            if request.request_id not in is_open:
                del self._calls[call_id]
                out += self._withdrawn(call_id)
        called = {request.request_id for request in self._calls.values()}
        for request in status.requests:
            if request.request_id not in called and request.request_id not in self._answered:
                out.append(self._call(request))
        self._answered &= is_open
        return out

    def _removed(self, call_id: str) -> list[Written]:
        said = "The message was taken out of the queue before its turn came."
        error = RpcErrorMessage(said, self.talk.row.agent, "QUEUE_ITEM_NOT_FOUND")
        return [Written(r.write(r.Stream(call_id, error))), complete(call_id)]

    # --- server calls -----------------------------------------------------------------------------

    def _call(self, request: OpenRequest) -> Written:
        call_id = f"srv-{next(self._numbers)}"
        self._calls[call_id] = request
        method = "askUserQuestion" if request.kind == "question" else "requestPermission"
        return Written(r.write(r.ServerCall(call_id, method, request)))  # type: ignore[arg-type]  # one of both

    def _withdrawn(self, call_id: str) -> list[Written]:
        """Returns the frames that take a server call back."""
        return [Written(r.write(r.Cancel(call_id)))]

    def called(self, call_id: str) -> OpenRequest | None:
        """Returns the request of a server call, or None if it is not open."""
        return self._calls.get(call_id)

    def read_reply(
        self, reply: r.Reply, request: OpenRequest
    ) -> m.QuestionReply | m.PermissionReply:
        """Returns the content of a client's answer. Raises Refused, with the `id`."""
        return r.read_reply(reply, request)

    def answered(self, call_id: str) -> list[Written]:
        """Closes a server call whose reply was accepted. Returns the frames that complete it."""
        self._answered.add(self._calls.pop(call_id).request_id)
        return [complete(call_id)]


def complete(call_id: str) -> Written:
    """Returns the frame that ends a stream."""
    return Written(r.write(r.Complete(call_id)))
