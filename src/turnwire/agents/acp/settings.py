"""The settings of an agent's session: model, mode, commands and the size of its context."""

from __future__ import annotations

import msgspec

from turnwire.agents.acp.connection import Connection, RequestFailed
from turnwire.core.controls import (
    Commands,
    ContextUsage,
    ContextUsed,
    Control,
    ControlResult,
    ListCommands,
    ListModels,
    Model,
    Models,
    SlashCommand,
)
from turnwire.core.events import Choice
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp import updates
from turnwire.dialects.acp.results import ConfigOption, SessionResult

__all__ = ["Settings"]


class Settings:
    """Keeps what the agent reports about its session, and changes it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session = SessionResult()
        self._session_id = ""
        self._model: str | None = None
        self._mode: str | None = None
        self._commands: list[updates.AvailableCommand] = []
        self._usage = updates.UsageUpdate()

    @property
    def current(self) -> Choice:
        """Returns the current model and mode."""
        return Choice(self._model, self._mode)

    def take(self, session: SessionResult, session_id: str) -> None:
        """Takes the id of the session, and the result of the request that opened it."""
        self._session = session
        self._session_id = session_id
        self._model, self._mode = session.model, session.mode

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
            case updates.CurrentModeUpdate(current_mode_id=mode):
                self._mode = mode
            case updates.ConfigOptionUpdate(config_options=options):
                try:
                    read = msgspec.convert(options, list[ConfigOption])
                except msgspec.ValidationError:
                    return  # options of another form: the former ones stay
                self._session = msgspec.structs.replace(self._session, config_options=read)
                self._model = self._session.model or self._model
                self._mode = self._session.mode or self._mode
            case _:
                pass

    async def choose(self, *, model: str | None, mode: str | None) -> dict[str, str]:
        """Changes the model and the mode. Returns why a change was refused, by its name."""
        refused: dict[str, str] = {}
        for name, value in (("model", model), ("mode", mode)):
            if value is None:
                continue
            try:
                why = await self._change(name, value)
            except RequestFailed as failed:
                why = failed.error.message or "The agent refused it."
            if why is not None:
                refused[name] = why
            elif name == "model":
                self._model = value
            else:
                self._mode = value
        return refused

    async def _change(self, name: str, value: str) -> str | None:
        """Changes one setting. Returns why it cannot be changed."""
        session = {"sessionId": self._session_id}
        option = self._session.option(name)
        if option is not None:
            params = {**session, "configId": option.id, "value": value}
            await self._connection.request(rpc.SetConfigOption, params)
        elif name == "model" and self._session.models is not None:
            await self._connection.request(rpc.SetModel, {**session, "modelId": value})
        elif name == "mode" and self._session.modes is not None:
            await self._connection.request(rpc.SetMode, {**session, "modeId": value})
        else:
            return f"This agent has no {name} to choose."
        return None

    def control(self, control: Control) -> ControlResult | None:
        """Returns the result of a control. Returns None if there is no such control."""
        match control:
            case ListModels():
                return Models(self._models())
            case ListCommands():
                return Commands([_command(each) for each in self._commands])
            case ContextUsage():
                used, size = self._usage.used, self._usage.size
                share = round(used / size * 100, 1) if size else None
                return ContextUsed(used, size, share, self._model)
            case _:
                return None

    def _models(self) -> list[Model]:
        option = self._session.option("model")
        if option is not None:
            return [
                Model(each.value, each.name or None, each.description)
                for each in option.values()
                if each.value is not None
            ]
        known = self._session.models
        return [
            Model(each.model_id, each.name or None, each.description)
            for each in (known.available_models if known else ())
        ]


def _command(command: updates.AvailableCommand) -> SlashCommand:
    hint = None if command.input is None else command.input.hint
    return SlashCommand(command.name, command.description, hint)
