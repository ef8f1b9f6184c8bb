"""Parse shell command lines into words and the text between them. Nothing is executed.

Covers only the grammar needed to find a program and leave the rest of the line as written:
quotes, `$(...)`, operators, redirections, comments.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

from prong.errors import UsageError
from prong.model.record import Record


class Word(Record, frozen=True):
    """A word as the program receives it, and as written in the line."""

    text: str
    raw: str

    @classmethod
    def of(cls, text: str) -> "Word":
        return cls(text, shlex.quote(text))


Piece = Word | str
"""A word, or the text between words as written."""

BLANK = " \t\\\n"
"""Characters between words; a newline counts only after a backslash."""

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECTION = re.compile(r"(?:\d*(?:<<<|<<-?|<>|<&|>>|>&|>\||<|>)|&>>?)[ \t]*")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|()\n]")
_WORD_ENDS = frozenset(" \t\n;&|<>()")
_QUOTED = re.compile(r"'[^']*'|\\.", re.DOTALL)
_DOUBLE_QUOTED = re.compile(r'"[^"]*"')
_EXPANDED_IN_QUOTES = re.compile(r"[$`]")
_EXPANDED = re.compile(r"[*?\[{]|^~|^\w+=~")


class Run(Record, frozen=True):
    """One command of a line, with the operator before it."""

    operator: str
    pieces: tuple[Piece, ...]

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Word))

    def __str__(self) -> str:
        raws = (piece.raw if isinstance(piece, Word) else piece for piece in self.pieces)
        return self.operator + "".join(raws)


def runs(line: str) -> list[Run]:
    """Split a line into commands; joined again, they are the line."""
    commands: list[tuple[str, list[Piece]]] = [("", [])]
    for piece in _pieces(line):
        if isinstance(piece, str) and _OPERATOR.fullmatch(piece):
            commands.append((piece, []))
        else:
            commands[-1][1].append(piece)
    return [Run(operator, tuple(pieces)) for operator, pieces in commands]


def _pieces(line: str) -> Iterator[Piece]:
    at = 0
    while at < len(line):
        between = _BLANK.match(line, at) or _COMMENT.match(line, at)
        redirection = None if between else _REDIRECTION.match(line, at)
        if redirection:
            end = _word_end(line, redirection.end())
        elif between := between or _OPERATOR.match(line, at):
            end = between.end()
        else:
            end = _word_end(line, at)
            yield Word(_unquoted(line[at:end]), line[at:end])
            at = end
            continue
        yield line[at:end]
        at = end


def is_plain(found: Sequence[Run]) -> bool:
    """Return whether the words mean the same without a shell."""
    if len(found) > 1 or any(is_assignment(word) for word in found[0].words[:1]):
        return False
    for piece in found[0].pieces:
        if isinstance(piece, Word):
            bare = _QUOTED.sub("''", piece.raw)
            if _EXPANDED_IN_QUOTES.search(bare) or _EXPANDED.search(_DOUBLE_QUOTED.sub("", bare)):
                return False
        elif not _BLANK.fullmatch(piece):
            return False
    return True


def is_assignment(word: Word) -> bool:
    return re.match(r"[A-Za-z_]\w*\+?=", word.raw) is not None


def _unquoted(raw: str) -> str:
    try:
        words = shlex.split(raw)
    except ValueError:
        return raw
    # The output of `$(...)` is unknown.
    return words[0] if len(words) == 1 else raw


def _word_end(line: str, at: int) -> int:
    while at < len(line) and line[at] not in _WORD_ENDS:
        at = _part_end(line, at)
    return at


def _part_end(line: str, at: int) -> int:
    """Return the end of one character, or of a whole quoted or bracketed part."""
    if line[at] == "\\":
        return min(at + 2, len(line))
    if line[at] == "'":
        return _found(line, "'", at + 1) + 1
    if line[at] in '"`':
        return _closing(line, at + 1, line[at])
    if line.startswith(("$(", "${"), at):
        return _closing(line, at + 2, ")" if line[at + 1] == "(" else "}")
    return at + 1


def _closing(line: str, at: int, mark: str) -> int:
    """Return the offset after the closing mark, skipping nested quotes and brackets."""
    while at < len(line):
        if line[at] == mark:
            return at + 1
        if mark == '"' and line[at] == "'":
            at += 1  # in double quotes, an ordinary character
        elif mark == ")" and line[at] == "(":
            at = _closing(line, at + 1, ")")
        else:
            at = _part_end(line, at)
    raise _unclosed(line, mark)


def _found(line: str, mark: str, at: int) -> int:
    index = line.find(mark, at)
    if index < 0:
        raise _unclosed(line, mark)
    return index


def _unclosed(line: str, mark: str) -> UsageError:
    return UsageError(f"the command has no closing {mark}: {line}", hint="agents.NAME.command")
