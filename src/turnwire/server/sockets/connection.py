"""A client of protocol v2 on its WebSocket: follows a conversation, and carries out its frames."""

from __future__ import annotations

import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.codec import read_command
from turnwire.dialects.v2.sent import Sent
from turnwire.engine import Talk
from turnwire.engine.fanout.follow import Place
from turnwire.engine.ownership.claims import Draining
from turnwire.errors import TurnwireError
from turnwire.server.access.keys import Who
from turnwire.server.api.problems import error_frame, refusal_of
from turnwire.server.sockets.commands import ack_of, carry_out, check_id
from turnwire.server.sockets.outlet import Gone, Send, Wire
from turnwire.server.sockets.peer import Client

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["Connection"]

_log = logging.getLogger("turnwire")


class Connection(Client):
    """Follows one conversation from a cursor in its log, for one client."""

    conversation_id: str
    id_name = "client_message_id"

    def __init__(
        self, service: Service, talk: Talk, place: Place, who: Who, send: Send, wire: Wire | None
    ) -> None:
        super().__init__(service, who, send, wire)
        self.conversation_id = talk.id
        self._talk = talk
        self._place = place

    async def open(self) -> None:
        """Sends the entries after the client's cursor, then the current state."""
        first = self.service.engine.attach(
            self._talk.row,
            self._place,
            self.outlet,
            client_id=self.who.client_id,
            connection_id=self.connection_id,
            user=self.who.name,
            is_owner=self.who.is_owner,
            reached=lambda: self.outlet.reached,
        )
        try:
            async with aclosing(first):
                async for sent in first:
                    await self.outlet.send_first(sent)
            await self.outlet.release()
        except Gone:
            pass  # the read loop notices it
        except TurnwireError as error:
            self.end(error)

    def leave(self) -> None:
        """Stops following the conversation."""
        self.service.engine.detach(self.conversation_id, self.outlet, self.connection_id)

    # --- frames of the client -------------------------------------------------------------------

    async def take(self, value: Any) -> None:
        """Carries out a frame, and answers it."""
        command = read_command(value)
        if isinstance(command, c.Heartbeat):
            check_id(command.client_message_id)
            self.outlet.put(self._beat(command.client_message_id))
        elif isinstance(command, c.Rewind | c.ControlCommand):
            self.do_beside(self._carry_out(command))  # waits for the agent, which may take long
        else:
            await self._carry_out(command)

    async def _carry_out(self, command: c.ClientFrame) -> None:
        answered = False

        def accepted(answer: Any) -> None:
            nonlocal answered
            answered = True
            self._put(ack_of(command, answer, self.conversation_id, self.now()))

        try:
            talk = self._talk.telling(accepted)
            await carry_out(command, talk, self.who, self.service)
        except TurnwireError as error:
            if isinstance(error, Draining) and command.client_message_id and not answered:
                self.close(4000)  # without an answer: the client sends it again to the next server
                return
            told = refusal_of(error)
            if isinstance(command, c.InputResponse) and "request_id" in told.data:
                told.data["question_id"] = told.data.pop("request_id")
            if not answered:
                self._put(error_frame(told, *self._here(), command.client_message_id))
            if told.code == "CONVERSATION_NOT_FOUND":
                self.end(told)
        except Exception:
            _log.exception("conversation %s: a frame failed", self.conversation_id)
            if not answered:
                defect = Refused("INTERNAL_ERROR")
                self._put(error_frame(defect, *self._here(), command.client_message_id))

    # --- frames for the client -------------------------------------------------------------------

    def error(self, refused: Refused) -> Sent:
        """Returns a frame with a refusal, or with the reason why the connection ends."""
        return Sent(error_frame(refused, *self._here()))

    def heartbeat(self) -> Sent:
        """Returns a heartbeat frame."""
        return self._beat(None)

    def _beat(self, client_message_id: str | None) -> Sent:
        name, now = self._here()
        payload = p.HeartbeatAck(client_message_id)
        return Sent(f.SessionHeartbeatAck(name, None, None, now, None, payload))

    def _put(self, frame: f.Frame) -> None:
        self.outlet.put(Sent(frame))

    def _here(self) -> tuple[str, str]:
        return self.conversation_id, self.now()
