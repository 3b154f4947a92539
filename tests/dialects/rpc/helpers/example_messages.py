"""The examples that define RPC messages."""

from __future__ import annotations

TEXT_DELTA = """
{
  "type": "stream_event",
  "uuid": "evt-abc12345-1",
  "session_id": "sess-xyz",
  "event": {
    "type": "content_block_delta",
    "index": 0,
    "delta": { "type": "text_delta", "text": "Hello" }
  },
  "provider": "claude"
}
"""

TOOL_START = """
{
  "type": "stream_event",
  "uuid": "evt-abc12345-2",
  "session_id": "sess-xyz",
  "event": {
    "type": "content_block_start",
    "index": 1,
    "content_block": {
      "type": "tool_use",
      "id": "toolu_xxx",
      "toolName": "Read",
      "toolType": "CLAUDE_READ",
      "input": null,
      "status": "in_progress"
    }
  },
  "provider": "claude"
}
"""

TOOL_RESULT = """
{
  "type": "user",
  "message": {
    "content": [
      {
        "type": "tool_result",
        "tool_use_id": "toolu_xxx",
        "content": "file contents here...",
        "is_error": false
      }
    ]
  },
  "provider": "claude"
}
"""

MESSAGE_DELTA = """
{
  "type": "stream_event",
  "uuid": "evt-abc12345-10",
  "session_id": "sess-xyz",
  "event": {
    "type": "message_delta",
    "delta": { "stop_reason": "end_turn" },
    "usage": { "output_tokens": 150 }
  },
  "provider": "claude"
}
"""

MESSAGE_STOP = """
{
  "type": "stream_event",
  "uuid": "evt-abc12345-11",
  "session_id": "sess-xyz",
  "event": {
    "type": "message_stop"
  },
  "provider": "claude"
}
"""

RESULT = """
{
  "type": "result",
  "subtype": "success",
  "duration_ms": 1234,
  "duration_api_ms": 456,
  "is_error": false,
  "num_turns": 2,
  "session_id": "sess-xyz",
  "total_cost_usd": 0.015,
  "provider": "claude"
}
"""
