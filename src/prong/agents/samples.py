"""Sample sessions for `prong demo`: templates in an agent's package."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

from prong.agents.base import TurnOver
from prong.model.code import TurnKey

_GAP = re.compile(r"\$\{(\w+) ?([^} ]*) ?(\d*)\}")
"""Placeholders in a template:

`${cwd}` and `${version}`; `${time -60}`, a minute before now; `${code NAME}`, the text of a file in
`code/`; `${bytes NAME 3}`, the length of the first three lines of another sample.
"""


class Samples:
    """The templates in a package's `samples` folder, for one working directory and time."""

    def __init__(self, package: str, cwd: str, now: datetime, version: str) -> None:
        self._folder = files(package) / "samples"
        self._cwd = cwd
        self._now = now
        self._version = version

    def write(self, path_of: Callable[[str, str], Path]) -> list[str]:
        """Write the sessions, readable only by their owner, as agents do; return their ids.

        `path_of` tells the file of a session from its id and text.
        """
        names = (file.name for file in self._folder.iterdir())
        ids = sorted(name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
        for id_ in ids:
            text = self._filled(f"{id_}.jsonl")
            path = path_of(id_, text)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            path.chmod(0o600)
        return ids

    def replay(self, agent: str, turn_over: TurnOver) -> None:
        """Report each turn that has code, with the code at its end."""
        if not (self._folder / "turns.json").is_file():
            return
        turns = json.loads(self._filled("turns.json"))
        start = turns[0]["files"]
        for turn in turns:
            key = TurnKey(agent, turn["session"], turn["turn"])
            turn_over(key, self._time(turn["when"]), start | turn["files"])

    def _filled(self, name: str) -> str:
        return _GAP.sub(self._fill, self._text(name))

    def _fill(self, gap: re.Match[str]) -> str:
        kind, argument, count = gap.groups()
        match kind:
            case "cwd":
                text = self._cwd
            case "version":
                text = self._version
            case "time":
                time = self._time(int(argument)).isoformat(timespec="milliseconds")
                text = time.replace("+00:00", "Z")
            case "code":
                text = self._text(f"code/{argument}.txt")
            case "bytes":
                lines = self._filled(argument).split("\n")[: int(count)]
                text = str(sum(len(line.encode()) + 1 for line in lines))
            case _:
                raise ValueError(f"{gap[0]} in a sample")
        return json.dumps(text, ensure_ascii=False)[1:-1]  # placeholders are inside JSON strings

    def _time(self, seconds: int) -> datetime:
        return self._now + timedelta(seconds=seconds)

    def _text(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")
