"""Validators of the checked-in JSON Schema."""

from __future__ import annotations

from functools import cache

from jsonschema import Draft202012Validator

from turnwire.cli.recordings.vocabularies import schemas


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas()[name])
