"""The id of a frame that is refused unread."""

from __future__ import annotations

import pytest

from turnwire.server.sockets.frame_id import id_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"id": "a"}', "a"),
        ('{"other": {"id": "b"}, "id": "a", "more": [1, {"id": "c"}]}', "a"),
        ('{"id": "\\ud83d\\ude42"}', "🙂"),
        ('{"text": "\\ud83d", "id": "a"}', "a"),
        ('{"id": "a", "text": "\\uD83D"}', "a"),
        ('{"id": "a", "text": "\\ud83d \\\\ud"}', "a"),
        # An uncertain id is not returned.
        ('{"id": "\\ud83d"}', None),
        ('{"id": "\\ud83d\\ude42", "text": "\\ud83d"}', None),
        ('{"other": "a"}', None),
        ('{"id": null}', None),
        ('{"id": 5}', None),
        ('["id", "a"]', None),
        ('{"id": "a"', None),
        ('{"id": "a", "text": "\\ud83d"', None),
        ("", None),
        ('{"a":' + "[" * 100_000, None),
    ],
)
def test_the_id_is_found_where_it_is_certain(text: str, found: str | None) -> None:
    assert id_in(text, "id") == found


def test_each_protocol_has_its_own_field_for_the_frame_id() -> None:
    text = '{"id": "a", "client_message_id": "b"}'
    assert id_in(text, "client_message_id") == "b"
    assert id_in(text, "id") == "a"
