"""Validates input by a JSON round trip before it is committed."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.offers import Offers
from turnwire.ports import AgentCapabilities

__all__ = ["check_mode", "check_model", "valid"]

T = TypeVar("T", bound=Struct)


def check_model(able: AgentCapabilities, model: str, offers: Offers | None = None) -> None:
    """Raises Refused if neither the agent nor its session offers this model.

    A session that is not open yet refuses the model itself.
    """
    models = _with(able, able.models, None if offers is None else offers.models)
    if models is not None and model not in models:
        known = _known("model", models)
        raise Refused("INVALID_PAYLOAD", f"There is no model {model!r}. {known}")


def check_mode(able: AgentCapabilities, mode: str, offers: Offers | None = None) -> None:
    """Raises Refused if neither the agent nor its session offers this permission mode."""
    own = able.modes_for(is_owner=True)
    modes = _with(able, own, None if offers is None else offers.permission_modes)
    if modes is not None and mode not in modes:
        known = _known("permission mode", modes)
        raise Refused("INVALID_PAYLOAD", f"There is no permission mode {mode!r}. {known}")


def _with(able: AgentCapabilities, own: list[str], offered: list[str] | None) -> list[str] | None:
    """Returns the choices of the agent and of its session. None: only a session will tell."""
    if not able.session_offers:
        return own
    return None if offered is None else list(dict.fromkeys([*own, *offered]))


def _known(kind: str, names: list[str]) -> str:
    if not names:
        return f"This agent has no choice of a {kind}."
    return f"Choose one of: {', '.join(names)}."


def valid(given: T) -> T:
    """Returns the value as the log would return it. Raises Refused, which names the bad field."""
    kind = type(given)
    try:
        return msgspec.json.decode(msgspec.json.encode(given), type=kind)
    except UnicodeEncodeError:
        why = "The text is not valid: it contains half of a character (a lone surrogate)."
    except msgspec.ValidationError as error:
        why = f"{error}.{_choice(kind, str(error))}"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        why = f"The value cannot be written as JSON: {error}."
    raise Refused("INVALID_PAYLOAD", why)


def _choice(kind: type[Any], said: str) -> str:
    """Returns the values that the bad field accepts. Returns an empty text if it accepts any."""
    field = re.search(r"`\$\.(\w+)`", said)
    hint = get_type_hints(kind).get(field[1]) if field else None
    if get_origin(hint) is not Literal:
        return ""
    return f" Use one of: {', '.join(get_args(hint))}."
