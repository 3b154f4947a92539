"""Decodes lines of the app-server into typed messages. Unknown methods and fields are kept."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.lenient import salvage
from turnwire.dialects.codex import messages as m
from turnwire.errors import BadLine

__all__ = ["Line", "decode"]


class Line(Struct, frozen=True, gc=False):
    """A decoded line of the stream."""

    message: m.CodexMessage
    raw: bytes  # as received; so no field is lost
    number: int  # from 1
    unknown: tuple[str, ...] = ()  # the names of unknown types in it


class _ErrorBody(Struct, gc=False):
    code: int = 0
    message: str = ""
    data: Any = None


class _Envelope(Struct, gc=False):
    method: str | None = None
    id: m.RequestId | None = None
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: _ErrorBody | None = None


class _Delta(Struct, gc=False):
    params: m.AgentMessageDelta


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_delta = msgspec.json.Decoder(_Delta).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_any = msgspec.json.Decoder().decode
_decoders = {
    kind: msgspec.json.Decoder(kind).decode
    for kind in (*m.NOTIFICATIONS.values(), *m.NOTICES.values(), *m.REQUESTS.values())
}


class _Whose(Struct, rename="camel", gc=False):
    thread_id: str = ""


_decode_whose = msgspec.json.Decoder(_Whose).decode


def decode(raw: bytes, number: int = 1) -> Line:
    """Decodes one line. Raises BadLine only if it is not a JSON object."""
    if raw.startswith(b'{"method":"item/agentMessage/delta",'):  # the most frequent line
        try:
            return Line(_decode_delta(raw).params, raw, number)
        except msgspec.DecodeError:
            pass  # the careful way, below
    try:
        if not raw.isascii():
            raw.decode()  # msgspec does not check fields that it skips
        envelope = _decode_envelope(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _unreadable(raw, number)
    return _line(envelope, raw, number)


def _line(envelope: _Envelope, raw: bytes, number: int) -> Line:
    method, request_id = envelope.method, envelope.id
    if method is None:
        if request_id is not None and envelope.result is not UNSET:
            return Line(m.Result(request_id, envelope.result), raw, number)
        if envelope.error is not None:
            error = envelope.error
            refused = m.Failed(request_id, error.code, error.message, error.data)
            return Line(refused, raw, number)
        return Line(m.UnknownMessage("", request_id), raw, number, ("(no method)",))
    params = Raw(b"{}") if envelope.params is UNSET else envelope.params
    issues: list[str] = []
    message: m.CodexMessage
    try:
        if request_id is not None:
            if method not in m.REQUESTS:
                return _unknown(method, request_id, raw, number)
            message = m.Asked(request_id, method, _typed(m.REQUESTS[method], params, issues))
        elif method in m.NOTIFICATIONS:
            message = _typed(m.NOTIFICATIONS[method], params, issues)
        elif method in m.NOTICES:
            told = _typed(m.NOTICES[method], params, issues)
            message = m.News(method, getattr(told, "thread_id", None) or "", told)
        elif method in m.NEWS:
            message = m.News(method, _typed(_Whose, params, []).thread_id)
        else:
            return _unknown(method, None, raw, number)
    except msgspec.ValidationError as problem:
        return _unknown(method, request_id, raw, number, str(problem))
    return Line(message, raw, number, tuple(issues))


def _typed(kind: type[Struct], params: Raw, issues: list[str]) -> Any:
    try:
        return _decode_whose(params) if kind is _Whose else _decoders[kind](params)
    except msgspec.ValidationError:
        value = _decode_any(params)
        if not isinstance(value, dict):
            raise
        return salvage(kind, value, issues, name=kind.__name__)


def _unknown(
    method: str, request_id: m.RequestId | None, raw: bytes, number: int, reason: str | None = None
) -> Line:
    return Line(m.UnknownMessage(method, request_id, reason), raw, number, (method,))


def _unreadable(raw: bytes, number: int) -> Line:
    """Returns a line of an unknown form. Raises BadLine if it is not a JSON object."""

    def bad(reason: str, detail: str) -> BadLine:
        return BadLine(reason, detail, line=number, raw=raw)

    try:
        raw.decode()
        _decode_raw(raw)
    except UnicodeDecodeError as error:
        raise bad("invalid_utf8", f"not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise bad("too_deep", "nested too deeply") from None
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            raise bad("truncated", "the line is cut off") from None
        raise bad("invalid_json", f"not JSON: {error}") from None
    if not raw.startswith(b"{"):
        raise bad("not_an_object", "JSON, but not an object")
    return Line(
        m.UnknownMessage("", None, "its envelope has another form"), raw, number, ("(form)",)
    )
