"""What an agent's program prints without a terminal: JSON events, and the answer in them."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from prong.agents import jsonl
from prong.record import Record

T = TypeVar("T", bound=msgspec.Struct)

NOTHING_SAID = "it ended without an answer"


class Answer(Record, frozen=True):
    """What came back from a program that was given a prompt."""

    session_id: str | None
    text: str
    error: str | None


def events(output: Iterable[str], type_: type[T]) -> Iterator[T]:
    """The JSON objects among the lines that a program prints; other lines may stand between."""
    for line in output:
        found, _ = jsonl.split_objects(line.encode("utf-8", "surrogatepass"))
        yield from (jsonl.salvage(type_, value) for _, _, value in found)
