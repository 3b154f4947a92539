"""What is kept for debugging holds no secrets, and is not long."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from turnwire.stores.redact import PREVIEW_LENGTH, raw_event, redact, redact_text

PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize(
    "key",
    [
        *("api_key", "apiKey", "API-KEY", "x-api-key", "anthropic_api_key"),
        *("token", "access_token", "authToken", "refresh_token"),
        *("secret", "client_secret", "aws_secret_access_key", "password", "passwd", "db_password"),
        *("Authorization", "cookie", "private_key", "credentials"),
    ],
)
def test_the_value_of_a_telling_key_is_taken_out(key: str) -> None:
    for value in ("hunter2", 1234, ["hunter2"], {"a": "hunter2"}):
        assert redact({"deep": [{key: value}]}) == {"deep": [{key: "[redacted]"}]}


@pytest.mark.parametrize(
    "value",
    [
        {"input_tokens": 3, "cache_read_input_tokens": 4, "max_tokens": 5},
        {"password": None, "token": "", "secret": False, "has_password": True},
        {"keyboard": "qwerty", "monkey": 1, "author": "Ann", "tokenizer": "x"},
        {"text": "the basic structure of a token is simple, and so is a secret"},
        {"text": "bearer authentication needs an authorization header and a cookie"},
    ],
)
def test_what_is_no_secret_stays(value: Any) -> None:
    assert redact(value) == value
    assert json.loads(raw_event(json.dumps(value).encode())) == value


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("key sk-ant-api03-AbCdEfGhIjKlMnOp-_x.", "key [redacted]."),
        ("Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ("-H 'authorization: tok_123'", "-H 'authorization: [redacted]'"),
        ("sent Bearer 0123456789abc, then", "sent Bearer [redacted], then"),
        ("AKIAIOSFODNN7EXAMPLE and ASIAIOSFODNN7EXAMPLE", "[redacted] and [redacted]"),
        (f"a {PRIVATE_KEY} b", "a [redacted] b"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow cut", "[redacted]"),
        ("export API_KEY=abc123 && run", "export API_KEY=[redacted] && run"),
        ("https://x.y/?token=abc&a=1", "https://x.y/?token=[redacted]&a=1"),
        ('{"password": "hunter2"}', '{"password": "[redacted]"}'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"[redacted]\\"}'),
        (f"jwt {JWT} end", "jwt [redacted] end"),
        ("ghp_0123456789abcdefABCDEF0123", "[redacted]"),
        ("xoxb-1234567890-abcdef", "[redacted]"),
        ("task-force disk-usage sk-1", "task-force disk-usage sk-1"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out_of_text(text: str, left: str) -> None:
    assert redact_text(text) == left
    assert json.loads(raw_event(json.dumps({"text": text}).encode())) == {"text": left}


def test_a_message_without_secrets_is_kept_byte_for_byte() -> None:
    raw = b'{ "type" : "assistant", "usage": {"output_tokens": 1.50}, "text": "\\u4f60" }'
    assert raw_event(raw) == raw.decode()
    assert raw_event(Raw(raw)) == raw.decode()


def test_a_long_message_is_kept_as_its_beginning_and_its_size() -> None:
    raw = json.dumps({"text": "x" * 20_000}).encode()
    assert json.loads(raw_event(raw)) == {
        "payload_preview": raw.decode()[:PREVIEW_LENGTH],
        "raw_size": len(raw),
    }
    assert raw_event(raw, limit=len(raw)) == raw.decode()


@pytest.mark.parametrize("before", [0, 900, 985, 990, 999])
def test_a_secret_is_not_in_the_beginning_either_not_even_a_part_of_it(before: int) -> None:
    raw = json.dumps({"a": "x" * before + " sk-ant-SECRETSECRETSECRET", "b": "y" * 2000}).encode()
    kept = raw_event(raw, limit=100)
    assert "SECRET" not in kept
    assert "sk-ant" not in kept


@pytest.mark.parametrize("raw", [b'{"token": 1e999, "password": "x1"}', b'\xff "password": "x1"'])
def test_what_is_no_json_is_kept_as_text(raw: bytes) -> None:
    kept = json.loads(raw_event(raw))
    assert isinstance(kept, str)
    assert "x1" not in kept


def test_what_is_too_deep_is_kept_as_text() -> None:
    deep = b'{"secret":' * 3000 + b'"x1"' + b"}" * 3000
    assert "x1" not in raw_event(deep, limit=10**6)
