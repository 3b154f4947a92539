"""Redaction: debug data has no secrets and a bounded length."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from string import ascii_letters, digits
from typing import Any

import pytest
from msgspec import Raw

from tests.helpers.cost_growth import grows_linearly
from turnwire.redaction.redact import PREVIEW_LENGTH, may_hold_secrets, raw_event, redact_text
from turnwire.redaction.secret_patterns import KINDS, Kind

FIXTURES = Path(__file__).parents[2] / "fixtures"
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"


def redact(value: Any) -> Any:
    return json.loads(raw_event(json.dumps(value).encode()))


@pytest.mark.parametrize(
    "key",
    [
        *("api_key", "apiKey", "API-KEY", "x-api-key", "anthropic_api_key"),
        *("token", "access_token", "authToken", "refresh_token"),
        *("secret", "client_secret", "aws_secret_access_key", "password", "passwd", "db_password"),
        *("Authorization", "cookie", "private_key", "credentials", "passphrase", "AccountKey"),
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
def test_text_without_a_secret_is_kept(value: Any) -> None:
    assert redact(value) == value


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
        ("redis://:hunter2@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
        ("https://ann:p@ss:w0rd@example.com/x", "https://ann:[redacted]@example.com/x"),
        (r"https:\/\/ann:hunter2@example.com", r"https:\/\/ann:[redacted]@example.com"),
        ("AccountName=x;AccountKey=abc+/=;E=1", "AccountName=x;AccountKey=[redacted];E=1"),
        ("Cookie: a=1; b=2\nnext", "Cookie: [redacted]\nnext"),
        (
            "https://hooks.slack.com/services/T00/B00/0123456789abcdef",
            "https://hooks.slack.com/services/[redacted]",
        ),
    ],
)
def test_text_that_looks_like_a_secret_is_redacted(text: str, left: str) -> None:
    assert redact_text(text) == left
    assert redact({"text": text}) == {"text": left}


# --- the table ------------------------------------------------------------------------------------


def _secret_of(kind: Kind) -> str:
    """The part of a sample that must not be kept."""
    left = kind.take_out(kind.sample)
    assert "[redacted]" in left
    before, _, after = left.partition("[redacted]")
    secret = kind.sample.removeprefix(before).removesuffix(after)
    assert len(secret) >= 7
    return secret


@each_kind
def test_a_secret_of_every_kind_is_taken_out(kind: Kind) -> None:
    """In a value, an item of a list, a key, a text, and a string that is JSON itself."""
    secret = _secret_of(kind)
    inner = json.dumps({"output": kind.sample})
    for value in (
        {"text": f"it is {kind.sample}"},
        {"deep": [[f"a\n{kind.sample}\tb"]]},
        {f"{kind.sample} there": 1},
        {"result": inner},
        {"result": json.dumps({"again": inner})},
    ):
        kept = raw_event(json.dumps(value).encode())
        assert json.dumps(secret)[1:-1] not in kept
        assert secret not in kept
        assert "[redacted]" in kept
    assert secret not in redact_text(f"({kind.sample})")


@each_kind
@pytest.mark.parametrize("before", [0, 500, 900, 960, 985, 999])
def test_a_secret_of_every_kind_is_taken_out_of_the_beginning_of_a_long_message(
    kind: Kind, before: int
) -> None:
    secret = _secret_of(kind)
    raw = json.dumps({"a": f"{'x' * before}\n{kind.sample}", "b": "y " * 20_000}).encode()
    kept = json.loads(raw_event(raw))["payload_preview"]
    assert json.dumps(secret)[1:-1][:5] not in kept
    whole = json.loads(raw_event(raw, limit=len(raw)))
    assert secret not in whole["a"]


@each_kind
def test_the_quick_look_lets_a_secret_of_every_kind_through(kind: Kind) -> None:
    assert may_hold_secrets(kind.sample)
    assert may_hold_secrets(json.dumps({"text": f"it is {kind.sample}"}))


@each_kind
def test_each_sign_of_every_kind_is_seen_by_the_quick_look(kind: Kind) -> None:
    for sign in kind.signs:
        plain, _, ahead = sign.partition("(?")
        assert may_hold_secrets(f"x {plain}{'0' * 32 if ahead.startswith('=') else ''} y")


# Invented, in the form of AWS secret access keys.
BARE = [
    "hK9vQ2xR7mTzL4wYcN8bJ5dFgP3sA6eU1iOoXkVq",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY1Z2M3K4Q5E",
    "3f+ZpQ8/tB1yRk5LmNcX7vW2aHs0DgJu9eIoTq4P",
]


@pytest.mark.parametrize("secret", BARE)
@pytest.mark.parametrize(
    "around",
    [
        *(
            "{}",
            "it is {}.",
            "key={}",
            '"{}"',
            "({})",
            "\n{}\n",
            "a\n{}",
            "`{}`",
            "id,{},x",
            "\u201c{}\u201d",
        ),
        *("see\t{}\tthere", "export A={};", "x: {}"),
    ],
)
def test_a_bare_secret_of_aws_is_taken_out(secret: str, around: str) -> None:
    text = around.format(secret)
    assert secret not in redact_text(text)
    assert redact_text(text) == around.format("[redacted]")
    assert redact({"text": text}) == {"text": around.format("[redacted]")}
    assert secret not in raw_event(json.dumps({"result": json.dumps({"out": text})}).encode())


def test_nearly_every_random_key_is_taken_out() -> None:
    random = Random(1)
    alphabet = f"{ascii_letters}{digits}+/"
    keys = ["".join(random.choices(alphabet, k=40)) for _ in range(1_000)]
    assert sum(key in redact_text(f"it is {key}") for key in keys) <= 25


@pytest.mark.parametrize(
    "text",
    [
        "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",  # a commit
        "2FD4E1C67A2D28FCED849EE1BB76E7391B93EB12",
        "https://github.com/a/b/commit/2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "550e8400-e29b-41d4-a716-446655440000",
        "toolu_01A09q90qw90lq917835lq9a",
        "msg_013Zva2CMHLNnjNjJKqJ2EF8xyzABCDEF0123",
        "req_011CSHoEeqs5C35K2UUqR7Fy",
        "src/components/UserProfile2/Index3Page/x",
        "/usr/lib/python3.11/site-packages/mcp/V2",
        "getHTTPResponseForUserAccountNumberById2",
        "TestTheUserAccountOfTheServerV2IsRenamed",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha512-" + "aB3dE5gH7jK9" * 7 + "==",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "hK9vQ2xR7mTzL4wYcN8bJ5dFgP3sA6eU1iOoXkVq=",  # of base64, with its padding
        "hK9vQ2xR7mTzL4wYcN8bJ5dFgP3sA6eU1iOoXkVqx",
        "id_hK9vQ2xR7mTzL4wYcN8bJ5dFgP3sA6eU1iOoXkVq",
        "hK9vQ2xR7mTzL4wYcN8bJ5dFgP3sA6eU1iOoXk-q",
        "aB3dE5gH7jK9" * 6
        + "\nhK9vQ2xR7mTzL4wYcN8bJ5dFgP3sA6eU1iOoXkVq",  # the last line of a picture
        "1234567890123456789012345678901234567890",
    ],
)
def test_text_with_only_the_length_of_a_key_is_kept(text: str) -> None:
    for each in (text, f"it is {text}, and"):
        assert redact_text(each) == each
        assert redact({"id": each}) == {"id": each}


def test_no_recording_holds_a_bare_key() -> None:
    [bare] = [kind for kind in KINDS if kind.shape is not None]
    for file in FIXTURES.rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            assert bare.take_out(line) == line, file


def test_a_secret_of_aws_next_to_its_id_is_redacted() -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    assert redact(["AKIAIOSFODNN7EXAMPLE", secret]) == ["[redacted]", "[redacted]"]
    assert secret not in redact_text(f"AKIAIOSFODNN7EXAMPLE,{secret}")
    assert secret not in redact_text(f"AWS says: '{secret}'.")
    assert redact([secret]) == [secret]  # it has no form of its own


ORDINARY = [
    "See http://localhost:5173/@vite/client and npm i @scope/package, or mail ann@example.com.",
    "git@github.com:ann/tool.git, ssh://git@host:22/x, https://example.com:8443/a?b=c#d",
    "aws s3 ls; commit 3f786850e387550fdab836ed7e6dc881de23001b in src/Aws/Handlers/Storage/V2/Main",
    "aws: /Users/Alice/Projects/Website/Sources/Main/", "ASIA and Asia, malaysia, laws and draws",
    "npm_config_registry npm_package_json_name hf_hub_download tw_element tw_some_long_name_of_css",
    "the risk-assessment, task-management and desk-organization-of-everything sub-tasks",
    "global-navigation-header-component-wrapper glpat- gho_ ghp_short AIza sk_live_ xoxo-hugs",
    "bearer of bad news, basic idea, cookie: the small file; a cookie: yes",
    "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL 550e8400-e29b-41d4-a716-446655440000",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "input_tokens: 3, max_tokens=4, tokenizer; the secret is out; key-value pairs; dapifer SG.a.b",
    "aws: see the commit 94954abda49de8615a048f8d2e64b5de848e27a1",
    "ratio 12:AA, 10:34 @ noon; link=short ticket=42 &sig=no; whsec_ rk_test_ SKU-123 SKILL",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert redact_text(text) == text
    assert redact({"text": text, "list": [text]}) == {"text": text, "list": [text]}


def test_only_fields_with_a_secret_name_are_redacted_in_the_recordings() -> None:
    """The recordings are real messages without secrets: `apiKeySource` is the name."""
    looked_at = 0
    for file in sorted(FIXTURES.rglob("*.jsonl")):
        for text in filter(may_hold_secrets, file.read_text(errors="replace").splitlines()):
            looked_at += 1
            for kind in KINDS:
                if kind.name != "value with a telling name":
                    assert kind.take_out(text) == text
    assert looked_at > 100


# Runs that a pattern reads, with as many places at which it may begin as there can be.
HOSTILE = {
    "private keys": "-----BEGIN PRIVATE KEY-----\n-----END ",
    "begins of private keys": "-----BEGIN ",
    "names of private keys": "-----BEGIN PRIVATE KEY ",
    "names": "secret", "names with dots": "token.", "names and colons": "secret:", "colons": "secret: ,",
    "names and spaces": "secret ", "bearers": "bearer ", "bearers without": "bearer\t\t",
    "web tokens": "eyJ-", "parts of web tokens": "eyJaaaaaaaa.", "cookies": "cookie:a", "cookies with ;": "cookie:;",
    "addresses": "://a:", "addresses with @": "://@", "schemes": "a.b+c-d://", "at": "a:@", "@": "@",
    "own": "tw_-", "links": "&link=", "sk": "sk-", "SG": "SG.aaaaaaaaaaaaaaaa", "sig": "&sig=", "q": "aaa8Q~",
    "aws": "AKIA aws wJalrXUtnFEMI/K7", "base64": "aws+", "slashes": "akia/", "gl": "glpat-", "xox": "xoxb.xoxb-",
    "telegram": "12345678:AA", "webhooks": "/api/webhooks/1", "hooks": "hooks.slack.com/services/", "keys": "key-SK0a",
    "backslashes": "secret\\", "quotes": "secret\"", "white": " ", "tabs": "secret\t", "github": "github_pat_ gho_",
}  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_redaction_costs_as_much_as_the_message_is_long(piece: str) -> None:
    def look(text: str) -> None:
        may_hold_secrets(text)
        redact_text(text)

    def repeated(size: int) -> str:
        return (piece * (size // len(piece) + 1))[:size]

    def one_run(size: int) -> str:
        return piece + "a" * (size // 2) + piece[-1] * (size // 2)

    assert grows_linearly(look, repeated, 4_000)
    assert grows_linearly(look, one_run, 4_000)


# --- whole messages -------------------------------------------------------------------------------


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
def test_no_part_of_a_secret_is_in_a_shortened_text(before: int) -> None:
    raw = json.dumps({"a": "x" * before + " sk-ant-SECRETSECRETSECRET", "b": "y" * 2000}).encode()
    kept = raw_event(raw, limit=100)
    assert "SECRET" not in kept
    assert "sk-ant" not in kept


@pytest.mark.parametrize("raw", [b'{"token": 1e999, "password": "x1"}', b'\xff "password": "x1"'])
def test_invalid_json_is_kept_as_text(raw: bytes) -> None:
    kept = json.loads(raw_event(raw))
    assert isinstance(kept, str)
    assert "x1" not in kept


def test_json_that_is_too_deep_is_kept_as_text() -> None:
    deep = b'{"secret":' * 3000 + b'"x1"' + b"}" * 3000
    assert "x1" not in raw_event(deep, limit=10**6)
