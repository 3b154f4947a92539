"""An MCP server on standard input and output, without any library: it starts at once.

Its tool asks a person for a colour; with the argument `shout` it returns its input in capitals.
"""

from __future__ import annotations

import json
import sys
from typing import Any

FORM = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]},
        "count": {"type": "integer", "description": "how many"},
    },
    "required": ["colour"],
}
PICK = {"name": "pick", "description": "Picks", "inputSchema": {"type": "object"}}
SHOUT = {"name": "shout", "description": "Says it louder", "inputSchema": {"type": "object"}}


def say(**line: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **line}) + "\n")
    sys.stdout.flush()


def main() -> None:
    calls: list[Any] = []
    for text in sys.stdin:
        line = json.loads(text)
        match line.get("method"):
            case "initialize":
                version = line["params"]["protocolVersion"]
                about = {"name": "colours", "version": "1"}
                able = {"protocolVersion": version, "capabilities": {"tools": {}}}
                say(id=line["id"], result={**able, "serverInfo": about})
            case "tools/list":
                say(id=line["id"], result={"tools": [SHOUT if "shout" in sys.argv else PICK]})
            case "tools/call" if line["params"]["name"] == "shout":
                words = line["params"]["arguments"]["words"].upper()
                say(id=line["id"], result={"content": [{"type": "text", "text": words}]})
            case "tools/call":
                calls.append(line["id"])
                params = {"message": "Which colour?", "requestedSchema": FORM}
                say(id="form", method="elicitation/create", params=params)
            case None:  # the answer of the person
                said = json.dumps(line.get("result"))
                say(id=calls.pop(), result={"content": [{"type": "text", "text": said}]})
            case _ if "id" in line:
                say(id=line["id"], result={})


if __name__ == "__main__":
    main()
