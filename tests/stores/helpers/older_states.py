"""States as older versions stored them, and the groups in which lists have their conversations."""

from __future__ import annotations

from turnwire.ports import Activity

__all__ = ["STATES_OF_OLDER"]

_TURN = '"turn":{"turn_id":1,"trace_id":"t","origin":"user","phase":"suspended"}'

# The group and the JSON, by name.
STATES_OF_OLDER: dict[str, tuple[Activity, str]] = {
    "new": ("idle", "{}"),
    "named": ("idle", """{"title":"\\"state\\":\\"error\\"","background":null}"""),
    "turn": ("working", f"{{{_TURN}}}"),
    "background": ("working", '{"state":"active","background":[{"task_id":"t"}]}'),
    "streaming": ("working", f'{{"state":"streaming",{_TURN}}}'),
    "asks": ("waiting_input", f'{{"state":"waiting_input",{_TURN}}}'),
    "stopped": ("interrupted", '{"state":"interrupted"}'),
    "failed": ("error", '{"state":"error","reason":"api_error"}'),
    "unknown": ("error", '{"state":"of another program"}'),
    "damaged": ("error", "{"),
}
