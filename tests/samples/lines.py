"""What the samples of both agents are written with."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    """Write a new session file, readable by its owner only, as agents do: compact JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    path.chmod(0o600)
    return path
