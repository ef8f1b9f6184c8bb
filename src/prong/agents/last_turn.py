"""Find the last turn of a session file by reading backwards, with the standard library only.

`prong-hook` runs inside an agent and cannot wait for the full readers of stores. Each agent has a
`LastTurnReader` that finds the id of the last turn by the same rules; tests compare the two.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from prong.files.regular import open_regular

_BLOCK = 1 << 16
LIMIT = 64 << 20
"""Maximum bytes to read backwards. Longer turns stay unidentified, to answer in time."""

Line = dict[str, Any]


class LastTurn(NamedTuple):
    """The turn at the end of a file."""

    id: str
    """Empty when it was inherited, or the file does not contain its id."""
    prompt_ids: tuple[str, ...] = ()
    """Ids that Claude Code hooks use for its prompt, or for prompts that were sent together."""
    message: str | None = None
    """The id of its last answer; None when there is none yet."""
    said: str = ""
    """The text of that answer."""
    number: int | None = None
    """The turn number by the agent's count, if recorded."""
    is_inherited: bool = False
    """It belongs to the session that this one was forked from."""
    prompt: str = ""
    """The prompt as typed."""

    def has_prompt(self, prompt_id: str | None) -> bool:
        """Return False only if both ids are known and differ."""
        return prompt_id is None or not self.prompt_ids or prompt_id in self.prompt_ids


class LastTurnReader:
    """What `prong-hook` asks about the sessions of an agent; plug-ins override what they know.

    An entry point of the group `prong.last_turn` names the class of an agent.
    """

    def last(self, path: Path, running: str | None = None) -> LastTurn | None:
        """Find the last turn in a file, other than the running one."""
        return None

    def answer(self, path: Path, turn: str) -> tuple[str | None, str]:
        """Return the id and text of the last answer in a turn, for agents that name the turn."""
        return None, ""

    def prompt(self, path: Path, turn: str) -> str:
        """Return the prompt of a turn near the end of the file."""
        return ""

    def file(self, session: str) -> Path | None:
        """Locate the file of a session, for events that do not name it."""
        return None

    def folder(self, path: Path | None) -> str | None:
        """Return the folder in which a session began."""
        return None


def backwards(path: Path, before: int | None = None) -> Iterator[tuple[Line, int]]:
    """Yield the objects in a file with their offsets, from the end.

    An incomplete last line is skipped: it is being written.
    """
    with suppress(OSError), open_regular(path) as file:
        for line, start in lines_backwards(file, before, LIMIT):
            value = _parsed(line) if line else None
            if isinstance(value, dict):
                yield cast(Line, value), start


def lines_backwards(
    file: BinaryIO, end: int | None = None, limit: int | None = None
) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a file with their offsets, from the end, as far as the limit."""
    end = file.seek(0, os.SEEK_END) if end is None else end
    at, block, rest = end, _BLOCK, b""
    while at > 0 and (limit is None or end - at < limit):
        size = min(block, at)
        at -= size
        block *= 2  # lines may be very long
        file.seek(at)
        lines = (file.read(size) + rest).split(b"\n")
        # The first line may begin in the block before.
        rest = lines.pop(0) if at else b""
        start = at + sum(len(line) + 1 for line in lines) + (len(rest) + 1 if at else 0)
        for line in reversed(lines):
            start -= len(line) + 1
            yield line, start


def first_line(path: Path) -> Line:
    """Return the first line of a file if it is an object."""
    with suppress(OSError), open_regular(path) as file:
        return table(_parsed(file.readline(LIMIT)))
    return {}


def words_of(message: Line) -> str:
    """Return the text of a message: a string, or blocks of which some have text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in blocks_of(message))
    return "\n".join(text for text in texts if isinstance(text, str))


def blocks_of(message: Line) -> list[Line]:
    content = message.get("content")
    return [table(item) for item in cast(list[Any], content)] if isinstance(content, list) else []


def table(value: Any) -> Line:
    return cast(Line, value) if isinstance(value, dict) else {}


def text_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
