"""Scans of either agent, with the files counted that they open: what the scan tests share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

from prong.agents.base import AgentStore, ScanCache
from prong.model.sessions import Scan
from tests.unit.agents.stores import Claude, Codex, as_bytes, uuid


class CountedFile:
    """Counts the bytes that are parsed (line by line) and those that are only hashed."""

    def __init__(self, file: BinaryIO, opened: "Opened") -> None:
        self._file = file
        self._opened = opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            self._opened.parsed += len(line)
            yield line

    def readline(self, size: int = -1) -> bytes:
        line = self._file.readline(size)
        self._opened.parsed += len(line)
        return line

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._opened.hashed += len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Opened:
    """The files that were opened since the last `reset`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.paths: list[Path] = []
        self.parsed = 0
        self.hashed = 0


def scan(store: AgentStore, cache: ScanCache) -> Scan:
    found = store.scan(cache)
    cache.save(store.name, found)
    return found


def titles(found: Scan) -> set[tuple[str, int]]:
    return {(session.title, session.turn_count) for session in found.sessions}


def claude_lines(number: int, *prompts: str) -> bytes:
    sample = Claude(Path("/nowhere")).new(number)
    for prompt in prompts:
        sample.prompt(prompt)
        sample.tools(("Bash", {"command": "make"}, "Exit code 1"), failed=[0])
        sample.answer(f"answer to {prompt}")
    return as_bytes(sample.lines)


def codex_lines(number: int, *prompts: str) -> bytes:
    sample = Codex(Path("/nowhere")).new(number)
    for prompt in prompts:
        sample.turn(prompt, f"answer to {prompt}", commands=[("make", 1)], files=["/w/a"])
    return as_bytes(sample.lines)


class Case:
    """The same questions for either agent."""

    def __init__(self, sessions: Claude | Codex, lines: Any) -> None:
        self.sessions = sessions
        self.store = sessions.store
        self._lines = lines

    def lines(self, *prompts: str, number: int = 1) -> bytes:
        return self._lines(number, *prompts)

    def write(self, *prompts: str, number: int = 1) -> Path:
        return self.sessions.write(uuid(number), [self.lines(*prompts, number=number)])

    @property
    def folder(self) -> Path:
        """The folder that the agent lists."""
        name = "projects" if isinstance(self.sessions, Claude) else "sessions"
        return self.sessions.root / name
