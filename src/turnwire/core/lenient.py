"""Reads partly invalid JSON: keeps every part that fits, and reports every part that does not.

The fast path is msgspec's own decoder. `salvage` walks only the values that it rejects. An unknown
variant of a union becomes that union's Unknown type. A field of the wrong type gets its default.
Each of these is reported by name.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Any, ClassVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Raw, Struct, ValidationError, structs

__all__ = ["Unknown", "known", "read_json", "salvage"]


class Unknown(Struct, frozen=True, gc=False, rename={"original_type": "originalType"}):
    """The variant of a tagged union that stands for all unknown variants.

    Both fields are required. So a foreign object that is tagged `unknown` is not mistaken for this
    type, which would lose its content.
    """

    # Whether an object of a known kind with an invalid field is kept whole as unknown, instead of
    # being read partially. Set where a field is the content itself.
    keeps_whole: ClassVar[bool] = False

    original_type: str  # the tag of the object
    data: Any  # the whole object


def known(values: Any) -> Meta:
    """Returns the Meta for `Annotated[str, known(Values)]`: a word from a list that may grow.

    Readers accept any word. The list itself is a Literal, for writers.
    """
    return Meta(examples=list(get_args(values)))


_decode = msgspec.json.Decoder().decode
_decode_any_float = msgspec.json.Decoder(float_hook=float).decode


def read_json(raw: bytes | str | Raw) -> Any:
    """Returns JSON as plain values. A number that is too large, as `1e999`, becomes infinite."""
    try:
        return _decode(raw)
    except ValidationError:
        return _decode_any_float(raw)


def salvage(kind: Any, value: Any, issues: list[str], *, name: str = "") -> Any:
    """Converts decoded JSON to `kind`; adds to `issues` the name of each part that does not fit.

    Raises ValidationError if the outermost structure does not fit.
    """
    try:
        return msgspec.convert(value, kind)
    except ValidationError:
        return _walk(kind, value, issues, name)


def _walk(kind: Any, value: Any, issues: list[str], name: str) -> Any:
    shape = _shape(kind)
    if isinstance(value, dict) and shape.variants:
        tag = value.get(shape.tag_field) if shape.tag_field else None
        variant = shape.variants.get(tag) if isinstance(tag, str | None) else None
        found: list[str] = []
        if variant is not None:
            try:
                fitting = _fields(variant, value, found, tag or name)
                if not found or shape.unknown is None or not shape.unknown.keeps_whole:
                    issues += found
                    return fitting
            except ValidationError:
                if shape.unknown is None:
                    raise
    if shape.unknown is not None:
        tag = value.get(shape.tag_field) if isinstance(value, dict) else None
        original = tag if isinstance(tag, str) else ""
        issues.append(f"{name}/{original or '(no type)'}" if name else original or "(no type)")
        return shape.unknown(original, value)
    if isinstance(value, list) and shape.item is not None:
        return [salvage(shape.item, item, issues, name=name) for item in value]
    if isinstance(value, dict) and shape.item is not None and _shape(shape.item).unknown:
        issues.append(f"{name} without a list")
        return [salvage(shape.item, value, issues, name=name)]
    if shape.raw:  # convert does not support Raw, which is only for bytes
        return Raw(msgspec.json.encode(value))
    return msgspec.convert(value, kind)


def _fields(kind: type[Struct], value: dict[str, Any], issues: list[str], name: str) -> Struct:
    kept: dict[str, Any] = {}
    for field in structs.fields(kind):
        if field.encode_name not in value:
            continue
        try:
            kept[field.name] = salvage(
                _hints(kind)[field.name], value[field.encode_name], issues, name=field.name
            )
        except ValidationError:
            if field.default is NODEFAULT and field.default_factory is NODEFAULT:
                raise
            issues.append(f"{name}.{field.encode_name}")
    try:
        return kind(**kept)
    except TypeError as error:  # a required field is missing
        raise ValidationError(str(error)) from None


class _Shape(Struct, frozen=True):
    """The properties of a type annotation that salvage uses."""

    variants: dict[str | None, type[Struct]]
    tag_field: str | None
    unknown: type[Unknown] | None
    item: Any
    raw: bool


@cache
def _shape(kind: Any) -> _Shape:
    members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    variants: dict[str | None, type[Struct]] = {}
    tag_field: str | None = None
    unknown: type[Unknown] | None = None
    item: Any = None
    for member in members:
        if get_origin(member) is list:
            (item,) = get_args(member)
        elif isinstance(member, type) and issubclass(member, Struct):
            config = member.__struct_config__
            tag_field = config.tag_field or tag_field
            if issubclass(member, Unknown):
                unknown = member
            else:
                variants[cast("str | None", config.tag)] = member
    return _Shape(variants, tag_field, unknown, item, Raw in members)


@cache
def _hints(kind: type[Struct]) -> dict[str, Any]:
    return get_type_hints(kind)
