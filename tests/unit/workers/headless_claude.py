"""A program that stands in for `claude --print`: it echoes, and writes a session as claude does."""

import os
import sys
from pathlib import Path

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.testing.home import IsolatedHome

_SCRIPT = """#!{python}
import json, os, sys, time
from datetime import UTC, datetime
from pathlib import Path

sys.path[:0] = {path!r}
words = sys.argv[1:]
if "--help" in words:
    sys.exit(print({help!r}))
if "--version" in words:
    sys.exit(print("2.1.326 (stand-in)"))
prompt = sys.stdin.read()
flag = "--resume" if "--resume" in words else "--session-id"
session = words[words.index(flag) + 1]
home = Path(os.environ["HOME"])
memory = home / "stand-in" / f"{{session}}.json"
memory.parent.mkdir(exist_ok=True)
turns = json.loads(memory.read_text()) if memory.exists() else []
if flag == "--resume" and not memory.exists():
    from prong.app import App

    (known,) = [one for one in App().sessions.all("claude") if one.id == session]
    for turn in App().sessions.turns(known):
        turns.append([turn.prompt, f"echo: {{turn.prompt}}"])
print(json.dumps({{"type": "system", "subtype": "init", "session_id": session}}), flush=True)
if prompt.startswith("slow"):
    time.sleep(float(prompt.split()[1]))
if prompt == "fail":
    told = {{"type": "result", "subtype": "success", "is_error": True, "session_id": session}}
    print(json.dumps({{**told, "result": "API Error: 400"}}), flush=True)
    sys.exit(1)
reply = f"echo: {{prompt}}"
turns.append([prompt, reply])
memory.write_text(json.dumps(turns))

from tests.samples.claude import ClaudeSample

sample = ClaudeSample(session, os.getcwd(), datetime.now(UTC))
for asked, answered in turns:
    sample.prompt(asked)
    sample.answer(answered)
for old in (home / ".claude").glob(f"projects/*/{{session}}.jsonl"):
    old.unlink()
sample.write(home / ".claude")
told = {{"type": "result", "subtype": "success", "is_error": False, "result": reply}}
print(json.dumps({{**told, "session_id": session, "turns": len(turns)}}), flush=True)
"""


def install(home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, first on PATH."""
    folder = home.root / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "claude"
    flags = "\n".join(f"  {flag}  does" for flag in ClaudeStore().program.flags)
    paths = [path for path in sys.path if path]
    program.write_text(_SCRIPT.format(python=sys.executable, path=paths, help=flags))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    (Path(home.root) / "stand-in").mkdir(exist_ok=True)
