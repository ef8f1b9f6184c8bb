"""A program that answers `hooks/list` as Codex 0.166 does: the measured shape, made-up hashes."""

import hashlib
import json
import os
import re
import sys

PROGRAM = f"""#!{sys.executable}
import sys
sys.path[:0] = {[path for path in sys.path if path]!r}
from tests.unit.agents.codex.hook_server import serve
serve()
"""


def serve() -> None:
    for line in sys.stdin:
        call = json.loads(line)
        if "id" not in call:
            continue
        result = listing() if call["method"] == "hooks/list" else {}
        sys.stdout.write(json.dumps({"id": call["id"], "result": result}) + "\n")
        sys.stdout.flush()


def listing() -> dict[str, object]:
    path = os.path.realpath(os.environ["CODEX_HOME"]) + "/hooks.json"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        events = json.load(file)["hooks"]
    found = [
        {
            "key": f"{path}:{snake(event)}:{group}:{index}",
            "command": hook["command"],
            "currentHash": hash_of(event, hook["command"]),
        }
        for event, groups in events.items()
        for group, entry in enumerate(groups)
        for index, hook in enumerate(entry["hooks"])
    ]
    return {"data": [{"cwd": "/", "hooks": found, "warnings": [], "errors": []}]}


def snake(event: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()


def hash_of(event: str, command: str) -> str:
    return "sha256:" + hashlib.sha256(f"{event} {command}".encode()).hexdigest()
