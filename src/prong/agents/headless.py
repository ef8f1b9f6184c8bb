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
    text: str = ""
    """All messages; `reply` is the last one."""

    @property
    def answer(self) -> ProgramAnswer:
        nothing = None if self.is_over and self.text else NOTHING_SAID
        return ProgramAnswer(self.session_id, self.text, self.error or nothing)


def events(output: Iterable[str], type_: type[T]) -> Iterator[T | str]:
    """Decode the JSON objects in a program's output; of other text, yield lines about errors."""
    for line in output:
        if not line.lstrip().startswith("{"):
            if _COMPLAINT.match(text := line.strip()):
                yield text
            continue
        objects, _ = jsonl.split_objects(line.encode("utf-8", "surrogatepass"))
        yield from (jsonl.salvage(type_, value) for _, _, value in objects)
