"""A stdio MCP server with two tools, for sessions that use one. Standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.e2e.fidelity.pictures import BLUE

INFO: dict[str, Any] = {"name": "tiny", "version": "1"}
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: list[dict[str, Any]] = [
    {"name": "lookup", "description": "Look something up.", "inputSchema": NO_ARGUMENTS},
    {"name": "picture", "description": "Show a picture.", "inputSchema": NO_ARGUMENTS},
]
RESULTS: dict[str, list[dict[str, Any]]] = {
    "lookup": [{"type": "text", "text": "found it"}, {"type": "text", "text": "twice"}],
    "picture": [{"type": "image", "data": BLUE.base64, "mimeType": "image/png"}],
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    match method:
        case "initialize":
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": RESULTS[params["name"]]}
        case _:
            return {}


def main() -> None:
    for row in sys.stdin:
        request = json.loads(row)
        if "id" in request:  # no notification
            result = answer(request["method"], request.get("params") or {})
            answered = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            sys.stdout.write(json.dumps(answered) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
