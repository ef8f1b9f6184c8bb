"""Copy the files beside a session file: sub-agents, large tool results, project memory."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Raw

from prong.agents.claude.fork.source import ClaudeSource
from prong.agents.claude.transcript import TranscriptNode
from prong.agents.common import path_text
from prong.files.publication import Publication, copy_file, writer
from prong.files.regular import open_regular, read_regular
from prong.model.sessions import SubAgent

_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode
_SIGNED = b'"signature"'
"""Thinking is signed, so a line that contains it is not rewritten."""
_RESULTS = "tool-results"
_AGENTS = "subagents"


@dataclass
class Moved:
    """The new folder of a session. Lines with large tool results contain its path."""

    session_file: Path
    target: Path
    results: set[Path] = field(default_factory=set[Path])
    """Files of large tool results that lines name."""

    def __post_init__(self) -> None:
        # The CLI wrote the path with or without resolving links.
        homes = {self.session_file.with_suffix(""), self.session_file.resolve().with_suffix("")}
        self._needles = {
            _inside(home): sorted((home / _RESULTS).glob("*")) for home in homes if home.is_dir()
        }
        self._replacement = _inside(self.target.with_suffix(""))

    def lines(self, records: Iterable[dict[str, Raw]]) -> Iterator[bytes]:
        """Encode records, and replace paths into the old folder."""
        for record in records:
            line = _encode(record)
            for needle, results in self._needles.items():
                if needle in line:
                    self.results.update(name for name in results if _inside(name)[:-1] in line)
                    if _SIGNED not in line:
                        line = line.replace(needle, self._replacement)
            yield line + b"\n"


def _inside(folder: Path | str) -> bytes:
    """Return the prefix of paths below a folder in a JSON string."""
    return _encode(path_text(folder))[1:-1] + b"/"


def launched(source: ClaudeSource, nodes: Iterable[TranscriptNode]) -> list[SubAgent]:
    """Find the sub-agents that these lines launched, and those that they launched in turn."""
    calls = {call.id for node in nodes for call in node.calls}
    remaining = list(source.conversation.subagents)
    agents: list[SubAgent] = []
    while started := [agent for agent in remaining if agent.call_id in calls]:
        agents += started
        remaining = [agent for agent in remaining if agent.call_id not in calls]
        if remaining:
            calls = set[str]().union(*(_calls_in(agent.path) for agent in started))
    return agents


def _calls_in(path: Path) -> set[str]:
    try:
        return {id_.decode() for id_ in re.findall(rb'"id"\s*:\s*"(\w+)"', read_regular(path))}
    except OSError:
        return set()


def stage(
    moved: Moved, agents: list[Path], id_: str, until: str | None, publication: Publication
) -> None:
    """Stage copies of the sub-agents, up to a time, and of tool results that the fork names."""
    home = moved.target.with_suffix("")
    folder: Path | None = None
    if agents:
        folder = _made(publication.stage(home))
        agents_folder = _made(folder / _AGENTS)
        for path in agents:
            _copy_agent(path, agents_folder, id_, until, moved)
    for result in sorted(moved.results):
        folder = folder or _made(publication.stage(home))
        if result.is_file():
            copy_file(result, _made(folder / _RESULTS) / result.name)


def _copy_agent(path: Path, folder: Path, id_: str, until: str | None, moved: Moved) -> None:
    with open_regular(path) as lines, writer(folder / path.name) as file:
        file.writelines(moved.lines(_agent_records(lines, id_, until)))
    meta = path.with_suffix(".meta.json")
    if meta.is_file():
        copy_file(meta, folder / meta.name)


def _agent_records(lines: Iterable[bytes], id_: str, until: str | None) -> Iterator[dict[str, Raw]]:
    for line in lines:
        try:
            fields = _fields(line)
        except (ValueError, RecursionError):
            continue  # incomplete or damaged: the agent skips it too
        # Times compare as text because all have one format.
        time = bytes(fields.get("timestamp", b"")).decode("utf-8", "replace").strip('"')
        if until is not None and time > until:
            break
        fields["sessionId"] = Raw(_encode(id_))
        yield fields


def stage_memory(session_file: Path, folder: Path, publication: Publication) -> None:
    """Stage a copy of the project's memory, unless the target project has its own."""
    source, target = session_file.parent / "memory", folder / "memory"
    if source == target or not _has_files(source) or _has_files(target):
        return
    staged = _made(publication.stage(target, optional=True))
    for path, names, files in os.walk(source):
        copied_folder = staged / Path(path).relative_to(source)
        for name in names:
            _made(copied_folder / name)
        for name in files:
            if (Path(path) / name).is_file():
                copy_file(Path(path) / name, copied_folder / name)


def _has_files(folder: Path) -> bool:
    return any(files for _, _, files in os.walk(folder))


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
