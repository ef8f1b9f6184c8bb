"""What an agent prints when it runs without a terminal: JSON events, and an answer in them."""

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
    """What came back from a program that was given a prompt."""

    session_id: str | None
    text: str
    error: str | None


class TurnOutput(Record, frozen=True):
    """The last turn in the output."""

    session_id: str | None = None
    is_over: bool = False
    reply: str = ""
    error: str | None = None


def events(output: Iterable[str], type_: type[T]) -> Iterator[T]:
    """The JSON objects among the lines that a program prints; other lines may stand between."""
    for line in output:
        found, _ = jsonl.split_objects(line.encode("utf-8", "surrogatepass"))
        yield from (jsonl.salvage(type_, value) for _, _, value in found)


def complaint(line: str) -> str | None:
    """What a line says that is no event, when it tells why there will be none."""
    text = line.strip()
    return text if _COMPLAINT.match(text) else None


def is_event(line: str) -> bool:
    return line.lstrip().startswith("{")


def lines_of(output: Iterable[str]) -> Iterable[str]:
    """Lines without their ends."""
    return (line.rstrip("\r\n") for line in output)
