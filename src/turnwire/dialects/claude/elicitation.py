"""Converts the form of an MCP server into questions to a person, and the answers into its fields.

If all answers are empty, the request is declined.
"""

from __future__ import annotations

from typing import Any

from turnwire.core import forms
from turnwire.dialects.claude.answers import ElicitationAnswer
from turnwire.dialects.claude.control import Elicitation

__all__ = ["answer_of", "asked_with"]


def asked_with(request: Elicitation) -> dict[str, Any]:
    """Returns the input of a `request_input` that asks for the same form."""
    asked = forms.asked_with(_words(request), _fields(request))
    about = {"mcp_server": request.mcp_server_name, "schema": request.requested_schema}
    return {**asked, "required": False, "metadata": {"elicitation": about}}


def answer_of(request: Elicitation, answer: Any) -> ElicitationAnswer:
    """Returns the answer to the MCP server."""
    fields = _fields(request)
    if not fields:
        accepts = forms.accepts(answer)
        return ElicitationAnswer("accept" if accepts else "decline", {} if accepts else None)
    content = forms.values_of(_words(request), fields, answer)
    return ElicitationAnswer("accept", content) if content else ElicitationAnswer("decline")


def _words(request: Elicitation) -> str:
    words = request.message or "An MCP server asks something."
    return words if request.url is None else f"{words}\n{request.url}"


def _fields(request: Elicitation) -> forms.Fields:
    """Returns the fields in the order of the form."""
    if request.url is not None:
        return {}
    return forms.fields_of(request.requested_schema, request.property_order or ())
