"""Sample sessions for `prong demo`: files of an agent's package, with gaps that are filled in."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

from prong.agents.base import TurnOver
from prong.model.code import TurnKey

_GAP = re.compile(r"\$\{(\w+) ?([^} ]*) ?(\d*)\}")
"""What stands in a file for what is not known before it is written:

`${cwd}` and `${version}`; `${time -60}`, a minute before now; `${code NAME}`, the text of a file in
`code/`; `${bytes NAME 3}`, how long the first three lines of another sample are.
"""


class Samples:
    """The folder `samples` of a package, as of one working directory and one moment."""

    def __init__(self, package: str, cwd: str, now: datetime, version: str) -> None:
        self._folder = files(package) / "samples"
        self._cwd = cwd
        self._now = now
        self._version = version

    def sessions(self) -> Iterator[tuple[str, str]]:
        """The sessions with their ids, in the order of these."""
        for name in sorted(file.name for file in self._folder.iterdir()):
            if name.endswith(".jsonl"):
                yield name.removesuffix(".jsonl"), self._filled(name)

    def replay(self, agent: str, turn_over: TurnOver) -> None:
        """Tell of each turn that is over, with the code at its end."""
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
                moment = self._time(int(argument)).isoformat(timespec="milliseconds")
                text = moment.replace("+00:00", "Z")
            case "code":
                text = self._text(f"code/{argument}.txt")
            case "bytes":
                lines = self._filled(argument).split("\n")[: int(count)]
                text = str(sum(len(line.encode()) + 1 for line in lines))
            case _:
                raise ValueError(f"{gap[0]} in a sample")
        return json.dumps(text, ensure_ascii=False)[1:-1]  # it stands inside of a JSON string

    def _time(self, seconds: int) -> datetime:
        return self._now + timedelta(seconds=seconds)

    def _text(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")


def write_sample(path: Path, text: str) -> None:
    """Write a new session file, readable by its owner only, as agents do."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    path.chmod(0o600)
