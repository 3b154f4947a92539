"""Changes the settings of an agent's session, and answers questions about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct, structs

from turnwire.agents.acp.connection import Connection, RequestFailed
from turnwire.core.controls import (
    Commands,
    ContextUsage,
    ContextUsed,
    Control,
    ControlResult,
    Done,
    ListCommands,
    ListModels,
    ListSessionOptions,
    Model,
    Models,
    SessionOptions,
    SetSessionOption,
    SlashCommand,
)
from turnwire.core.error_codes import Refused
from turnwire.core.events import Choice, SessionOffered
from turnwire.core.offers import Offers, OptionValue, Setting, offers_of
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp import updates
from turnwire.dialects.acp.settings import SessionSettings

__all__ = ["Allowed", "Settings"]


class Allowed(Struct, frozen=True):
    """The models and modes that the settings of the agent allow. None: all that it offers."""

    models: Collection[str] | None = None
    modes: Collection[str] | None = None


class Settings:
    """Changes what `session` follows. Keeps the agent's commands and the size of its context."""

    def __init__(self, connection: Connection, session: SessionSettings, allowed: Allowed) -> None:
        self._connection = connection
        self._session = session
        self._allowed = allowed
        self._session_id = ""
        self._commands: list[updates.AvailableCommand] = []
        self._usage = updates.UsageUpdate()

    @property
    def current(self) -> Choice:
        """Returns the current model and mode."""
        return Choice(self._session.model, self._session.mode)

    def take(self, session_id: str) -> None:
        """Takes the id of the session, which is open now."""
        self._session_id = session_id

    def hear(self, message: rpc.AcpMessage) -> None:
        """Takes an update of the session. Before the session is open, any update is of it."""
        if not isinstance(message, rpc.Update):
            return
        if self._session_id not in ("", message.params.session_id):
            return
        match message.params.update:
            case updates.AvailableCommandsUpdate(available_commands=commands):
                self._commands = commands
            case updates.UsageUpdate() as usage:
                self._usage = usage
            case _:
                pass

    def allowed(self, told: SessionOffered) -> SessionOffered:
        """Returns the event without the models and modes that are not allowed."""
        offers: Offers = told.offers
        models = _within(offers.models, self._allowed.models)
        modes = _within(offers.permission_modes, self._allowed.modes)
        kept = offers_of(models, modes, offers.session_options, images=offers.images)
        return structs.replace(told, offers=kept)

    # --- changes ------------------------------------------------------------------------------

    async def choose(self, *, model: str | None, mode: str | None) -> dict[str, str]:
        """Changes the model and the mode. Returns why a change was refused, by its name."""
        refused: dict[str, str] = {}
        for name, value in (("model", model), ("mode", mode)):
            why = None if value is None else await self._change(name, value)
            if why is not None:
                refused[name] = why
        return refused

    async def restore(self, options: Mapping[str, Setting]) -> None:
        """Sets the options that a person chose before. Leaves out what is not offered any more."""
        for name, value in options.items():
            known = {each.option: each for each in self._session.options()}
            if name in known and known[name].takes(value) and self._session.values[name] != value:
                await self._change(name, value)

    async def _change(self, name: str, value: Setting) -> str | None:
        """Changes one setting. Returns why it cannot be changed."""
        asked = self._session.change(self._session_id, name, value)
        if asked is None:
            return f"This agent has no {name} to choose."
        kind, params = asked
        try:
            await self._connection.request(kind, params)
        except RequestFailed as failed:
            return failed.error.message or "The agent refused it."
        return None

    # --- controls -----------------------------------------------------------------------------

    async def control(self, control: Control) -> ControlResult | None:
        """Returns the result of a control. Returns None if there is no such control."""
        match control:
            case ListModels():
                found = self._session.models()
                kept = _within([each.value for each in found], self._allowed.models)
                return Models([_model(each) for each in found if each.value in kept])
            case ListCommands():
                return Commands([_command(each) for each in self._commands])
            case ListSessionOptions():
                return SessionOptions(self._session.options(), self._session.values)
            case SetSessionOption(option=option, value=value):
                return await self._set(option, value)
            case ContextUsage():
                used, size = self._usage.used, self._usage.size
                share = round(used / size * 100, 1) if size else None
                return ContextUsed(used, size, share, self._session.model)
            case _:
                return None

    async def _set(self, name: str, value: Setting) -> Done:
        """Changes a further option. Raises Refused."""
        known = {each.option: each for each in self._session.options()}
        if name not in known:
            there = ", ".join(known) or "none"
            raise Refused("INVALID_PAYLOAD", f"There is no option {name!r}; there is: {there}.")
        if not known[name].takes(value):
            values = [each.value for each in known[name].values] or ["true", "false"]
            said = (
                f"The option {name!r} has no value {value!r}. Choose one of: {', '.join(values)}."
            )
            raise Refused("INVALID_PAYLOAD", said)
        why = await self._change(name, value)
        if why is not None:
            raise Refused("AGENT_ERROR", f"The agent refused the option: {why}")
        return Done()


def _within(found: list[str], allowed: Collection[str] | None) -> list[str]:
    return found if allowed is None else [each for each in found if each in allowed]


def _model(found: OptionValue) -> Model:
    return Model(found.value, found.name, found.description)


def _command(command: updates.AvailableCommand) -> SlashCommand:
    hint = None if command.input is None else command.input.hint
    return SlashCommand(command.name, command.description, hint)
