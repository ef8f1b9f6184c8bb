"""Output of headless agents: JSON events, one of which holds the answer."""

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from prong.agents import jsonl
from prong.model.record import Record

T = TypeVar("T", bound=msgspec.Struct)

NOTHING_SAID = "it ended without an answer"
_COMPLAINT = re.compile(r"(?:Error|error|ERROR)\b.*|No conversation found.*")


class ProgramAnswer(Record, frozen=True):
    """The answer of a program to a prompt."""

    session_id: str | None
    text: str
    error: str | None


class TurnOutput(Record, frozen=True):
    """State of the last turn in the output."""

    session_id: str | None = None
    is_over: bool = False
    reply: str = ""
    error: str | None = None


def events(output: Iterable[str], type_: type[T]) -> Iterator[T]:
    """Decode the JSON objects in a program's output, skipping other text."""
    for line in output:
        objects, _ = jsonl.split_objects(line.encode("utf-8", "surrogatepass"))
        yield from (jsonl.salvage(type_, value) for _, _, value in objects)


def complaint(line: str) -> str | None:
    """Return a line that is not an event if it reports an error."""
    text = line.strip()
    return text if _COMPLAINT.match(text) else None


def is_event(line: str) -> bool:
    return line.lstrip().startswith("{")


def lines_of(output: Iterable[str]) -> Iterable[str]:
    """Strip line endings."""
    return (line.rstrip("\r\n") for line in output)
