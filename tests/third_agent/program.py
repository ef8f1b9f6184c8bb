"""The program of the agent `notes`: it answers each prompt by writing it to a file.

notes --session ID PROMPT             one turn
notes --session ID --headless         the prompt is on standard input
notes mcp add NAME WORD... | remove NAME
"""

import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("NOTES_HOME") or Path.home() / ".notes")


def main(words: list[str]) -> None:
    if words in (["--help"], ["--version"]):
        print("notes 1.0\n  --session ID  the session")  # noqa: T201
    elif words[0] == "mcp":
        change_servers(*words[1:])
    else:
        headless = words[2:] == ["--headless"]
        print(json.dumps(take_turn(words[1], sys.stdin.read() if headless else words[2])))  # noqa: T201


def take_turn(session: str, prompt: str) -> dict[str, str]:
    path = ROOT / f"{session}.jsonl"
    now = datetime.now(UTC).isoformat()
    call_hook("UserPromptSubmit", session, path)
    Path("note.txt").write_text(prompt, encoding="utf-8")
    answer = f"noted: {prompt}"
    with path.open("a", encoding="utf-8") as file:
        if not path.stat().st_size:
            file.write(json.dumps({"notes": 1, "cwd": str(Path.cwd()), "time": now}) + "\n")
        line = {"turn": str(uuid.uuid4()), "prompt": prompt, "answer": answer, "time": now}
        file.write(json.dumps(line) + "\n")
    call_hook("Stop", session, path, last_assistant_message=answer)
    return {"session": session, "answer": answer}


def call_hook(event: str, session: str, path: Path, **more: str) -> None:
    settings = ROOT / "hook.json"
    if settings.exists():
        told: dict[str, Any] = {"hook_event_name": event, "session_id": session}
        told |= {"transcript_path": str(path), "cwd": str(Path.cwd()), **more}
        argv = json.loads(settings.read_bytes())
        subprocess.run(argv, input=json.dumps(told).encode(), check=True)


def change_servers(verb: str, name: str, *command: str) -> None:
    file = ROOT / "mcp.json"
    servers: dict[str, Any] = json.loads(file.read_bytes()) if file.exists() else {}
    if verb == "add":
        servers[name] = command
    else:
        del servers[name]
    file.write_text(json.dumps(servers), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
