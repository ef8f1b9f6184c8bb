"""Parser of exported sessions, written by prong or by other converters."""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

_HEAD_LINES = 60

_FIELD = re.compile(
    r"""[\s>\#*+_`|-]*                                       # a list, a heading, bold, a table
        (?P<name>session[ _-]?id|working[ _-]?directory|cwd|date|agent)
        [\s*_`]*[:|][\s*_`]*
        (?P<value>\S(?:.*\S)?)\s*$
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NAMES = {"sessionid": "session_id", "workingdirectory": "cwd"}
_ID = re.compile(r"[\w.-]{1,128}")
_TURN = re.compile(r"^## Turn (\d{1,9})\b.*(?:\n\r?\nTime: (\S+))?", re.MULTILINE)
_TIME = re.compile(r"Time: \S+$")
_LABEL = re.compile(r"\*\*[\w ]+\*\*\s*$")
_PLACES = (_FIELD, _LABEL, _TIME)
_MARKS = re.compile(r"^(?:(?:\#+|>|-)\s+|>$)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class ExportHeader(NamedTuple):
    """Fields of an export's header; None when absent."""

    session_id: str | None = None
    agent: str | None = None
    cwd: str | None = None
    date: str | None = None


class ExportedTurn(NamedTuple):
    """The number and time in the heading of a turn."""

    number: int
    """Number at the time of the export; a rewind can give it to another turn."""
    time: str


def header_in(text: str) -> ExportHeader:
    """Parse the header at the start of a file, ignoring text of the session itself."""
    fields: dict[str, str] = {}
    for line in text.split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        if match := _FIELD.match(line):
            name = re.sub(r"[ _-]", "", match["name"].lower())
            fields.setdefault(_NAMES.get(name, name), match["value"].strip("*`|\"' \t"))
        elif fields and line.startswith("#"):
            break
    fields = {name: value for name, value in fields.items() if value}
    if not _ID.fullmatch(fields.get("session_id", "")):
        fields.pop("session_id", None)
    elif _UUID.fullmatch(fields["session_id"]):
        fields["session_id"] = fields["session_id"].lower()
    # Some write "Claude Code"; prong's names are one word.
    agent = fields.pop("agent", "").lower()
    if agent and not re.search(r"\s", agent):
        fields["agent"] = agent
    return ExportHeader(**fields)


def id_in_name(path: str) -> str | None:
    """Find the session id in the file name of an export: the last UUID."""
    ids: Iterable[str] = _UUID.findall(PurePath(path).name)
    return next((uuid.lower() for uuid in reversed(list(ids))), None)


def turn_at(text: str, line: int, piece: str) -> ExportedTurn | None:
    """Find the turn that contains a line (counting from 1) of an export.

    Returns None when the line does not contain the piece, because the file has changed. Also None
    for a turn without a time, which cannot be matched to a turn of today.
    """
    lines = text.split("\n", line)
    if len(lines) < line or lines[line - 1].rstrip("\r") != piece.rstrip("\r"):
        return None
    end = sum(map(len, lines[:line])) + line
    last: re.Match[str] | None = None
    for heading in _TURN.finditer(text):
        if heading.start() >= end:
            break
        last = heading
    return ExportedTurn(int(last[1]), last[2]) if last and last[2] else None


def readable(text: str) -> str:
    """Strip headers, labels and markup from a piece of an export."""
    lines = (line.strip() for line in text.split("\n"))
    content = (line for line in lines if not any(pattern.match(line) for pattern in _PLACES))
    return "\n".join(filter(None, (_MARKS.sub("", line) for line in content)))
