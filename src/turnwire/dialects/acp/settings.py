"""The settings of a session: what it offers to choose from, and what is chosen now."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, UnsetType, structs

from turnwire.core.lenient import read_json
from turnwire.core.offers import Offers, OptionValue, SessionOption, Setting, offers_of
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp.results import ConfigOption, SessionResult, read_result

__all__ = ["SessionSettings"]

_TYPES = ("select", "boolean")  # an option of another type cannot be changed
_OWN = ("model", "mode")  # categories that are no further options


class SessionSettings:
    """Follows the results, updates and changes of one session."""

    def __init__(self) -> None:
        self._session = SessionResult()
        self._asked: dict[rpc.RequestId, rpc.AcpMessage] = {}  # changes without a response

    @property
    def model(self) -> str | None:
        """Returns the current model, if the agent says it."""
        return self._session.model

    @property
    def mode(self) -> str | None:
        """Returns the current mode, if the agent says it."""
        return self._session.mode

    @property
    def values(self) -> dict[str, Setting]:
        """Returns the current values of the further options."""
        found = ((each.id, each.current_value) for each in self._further())
        return {name: value for name, value in found if isinstance(value, str | bool)}

    def models(self) -> list[OptionValue]:
        """Returns the models that may be chosen."""
        models = self._session.models
        return self._values_of("model") or [
            OptionValue(each.model_id, each.name or None, each.description)
            for each in (models.available_models if models else ())
        ]

    def modes(self) -> list[OptionValue]:
        """Returns the modes that may be chosen."""
        modes = self._session.modes
        return self._values_of("mode") or [
            OptionValue(each.id, each.name or None, each.description)
            for each in (modes.available_modes if modes else ())
        ]

    def options(self) -> list[SessionOption]:
        """Returns the further options."""
        return [
            SessionOption(
                each.id,
                each.name or None,
                each.category,
                each.description,
                _named(each),
            )
            for each in self._further()
        ]

    def offers(self, *, images: bool) -> Offers:
        """Returns everything that the session offers. `images`: it takes pictures."""
        models = [each.value for each in self.models()]
        modes = [each.value for each in self.modes()]
        return offers_of(models, modes, self.options(), images=images)

    def change(self, session_id: str, name: str, value: Setting) -> tuple[type, Any] | None:
        """Returns the request that changes a setting: its type and parameters. None: no such one.

        `name` is `model`, `mode`, or a further option.
        """
        session = {"sessionId": session_id}
        category = name in _OWN
        further = (each for each in self._further() if each.id == name)
        option = self._session.option(name) if category else next(further, None)
        if option is not None:
            kind = {"type": "boolean"} if isinstance(value, bool) else {}
            return rpc.SetConfigOption, {**session, "configId": option.id, **kind, "value": value}
        if name == "model" and self._session.models is not None:
            return rpc.SetModel, {**session, "modelId": value}
        if name == "mode" and self._session.modes is not None:
            return rpc.SetMode, {**session, "modeId": value}
        return None

    # --- news ---------------------------------------------------------------------------------

    def opened(self, session: SessionResult) -> None:
        """Takes the result of the request that opened the session."""
        self._session = session

    def asked(self, number: rpc.RequestId, message: rpc.AcpMessage) -> None:
        """Takes a request of the host that changes a setting."""
        if isinstance(message, rpc.SetConfigOption | rpc.SetModel | rpc.SetMode):
            self._asked[number] = message

    def answered(self, response: rpc.Response) -> bool:
        """Takes a response. Returns whether it was to a change that the agent has made."""
        change = self._asked.pop(response.id, None)
        params = getattr(change, "params", None)
        if response.error is not None or not isinstance(params, dict):
            return False
        match change:
            case rpc.SetMode():
                self.mode_is(params.get("modeId"))
            case rpc.SetModel() if self._session.models is not None:
                models = structs.replace(
                    self._session.models, current_model_id=params.get("modelId")
                )
                self._session = structs.replace(self._session, models=models)
            case _:
                self._set(params.get("configId"), params.get("value"))
                self._take_list(response.result)
        return True

    def mode_is(self, mode: Any) -> None:
        """Takes the current mode."""
        option = self._session.option("mode")
        if option is not None:
            self._set(option.id, mode)
        if self._session.modes is not None:
            modes = structs.replace(self._session.modes, current_mode_id=mode)
            self._session = structs.replace(self._session, modes=modes)

    def options_are(self, options: list[Any]) -> None:
        """Takes the complete list of options. One of another form changes nothing."""
        try:
            read = msgspec.convert(options, list[ConfigOption])
        except msgspec.ValidationError:
            return
        self._session = structs.replace(self._session, config_options=read)

    # --- parts --------------------------------------------------------------------------------

    def _further(self) -> list[ConfigOption]:
        own = [self._session.option(name) for name in _OWN]
        found = self._session.config_options or []
        return [each for each in found if each not in own and each.type in _TYPES]

    def _values_of(self, category: str) -> list[OptionValue]:
        option = self._session.option(category)
        return [] if option is None else _named(option)

    def _set(self, option_id: Any, value: Any) -> None:
        options = [
            structs.replace(each, current_value=value) if each.id == option_id else each
            for each in self._session.config_options or ()
        ]
        self._session = structs.replace(self._session, config_options=options)

    def _take_list(self, result: Raw | UnsetType) -> None:
        told = None if isinstance(result, UnsetType) else read_json(result)
        if isinstance(told, dict) and isinstance(told.get("configOptions"), list):
            changed = read_result(SessionResult, result).config_options
            self._session = structs.replace(self._session, config_options=changed)


def _named(option: ConfigOption) -> list[OptionValue]:
    return [
        OptionValue(each.value, each.name or None, each.description)
        for each in option.values()
        if each.value is not None
    ]
