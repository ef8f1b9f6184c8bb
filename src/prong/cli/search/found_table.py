"""Table of search hits: reference, prompt and matching passage."""

from collections.abc import Iterator
from typing import NamedTuple

import click

from prong.cli.output import styled
from prong.model.amounts import counted
from prong.model.search import Hit, Passage, SearchResult
from prong.model.sessions import SessionRef, Turn
from prong.views.passage import cleaned, fitted, within
from prong.views.text import age, cells, clean, cut, cut_left, pad, short_path, short_refs, wrapped
from prong.views.turn_table import row

_NARROW = 60
_LEAST_FOLDER = 8
_TURN_ID = 8
_COPIES = 3


class _Head(NamedTuple):
    """The first line of a hit, in columns."""

    label: str
    score: str
    name: str
    when: str
    code: str
    folder: str


class FoundTable:
    """Search hits fitted to a terminal width; in a pipe nothing is cut."""

    def __init__(self, result: SearchResult, room: int | None, *, snippets: bool = True) -> None:
        self._room = room
        self._snippets = snippets
        self._passage_lines = 2
        self._by_session = result.query.by_session
        refs = [hit.ref for hit in result.hits if hit.ref]
        copies = [ref for hit in result.hits for ref, _ in hit.also]
        self._short = short_refs(result.refs, [*refs, *copies])
        self._hits = result.hits
        self._firsts = {hit.ref: hit for hit in reversed(result.hits)}
        """First hit of each session, which shows how many more there are."""
        self._heads = [self._head(hit, rank) for rank, hit in enumerate(result.hits, start=1)]
        self._indent = max((cells(head.label) for head in self._heads), default=2) + 2

    def print(self, most: int | None = None) -> int:
        """Print at least one hit and at most `most` lines; return the number of hits printed."""
        blocks = self._blocks()
        if most is not None and sum(map(len, blocks)) > most:
            self._passage_lines = 1
            blocks = self._blocks()
        used = 0
        for count, lines in enumerate(blocks):
            used += len(lines)
            if most is not None and used > most and count:
                return count
            for line in lines:
                click.echo(line)
        return len(blocks)

    def _blocks(self) -> list[list[str]]:
        return [list(self.lines(rank)) for rank in range(1, len(self._hits) + 1)]

    def lines(self, rank: int) -> Iterator[str]:
        hit = self._hits[rank - 1]
        yield from self._first(self._heads[rank - 1])
        columns = self._room and self._room - self._indent
        for text in self._body(hit, columns):
            yield f"{'':{self._indent}}{text}"

    def _body(self, hit: Hit, columns: int | None) -> Iterator[str]:
        if title := self._title(hit):
            yield title if columns is None else cut(title, columns)
        yield from self._said(hit, columns)
        if hit.warning:
            warning = clean(hit.warning)
            for line in [warning] if columns is None else wrapped(warning, columns):
                yield styled(line, fg="yellow")
        if rest := self._rest(hit):
            yield styled(rest if columns is None else cut(rest, columns), dim=True)

    def _title(self, hit: Hit) -> str:
        """Return the title of a hit that represents a session, unless its prompt repeats it."""
        if hit.session is None or not (self._by_session or hit.turn is None):
            return ""
        title = clean(hit.session.title)
        if hit.turn is not None and clean(hit.turn.prompt).startswith(title):
            return ""
        return title or "(no prompt)"

    def _said(self, hit: Hit, columns: int | None) -> Iterator[str]:
        """Yield prompt and passage; only the prompt, with marks, if it contains the passage."""
        passage = cleaned(hit.passage) if self._snippets else Passage("")
        if hit.turn is not None:
            prompt = cleaned(Passage(row(hit.turn, "").prompt)).text
            lines = _with_matches(within(passage, prompt), columns)
            if lines:
                passage = Passage("")
            for line in lines or fitted(Passage(prompt), columns, 1):
                yield highlighted(line)
        for line in fitted(passage, columns, self._passage_lines):
            yield highlighted(line, dim=True)

    def _rest(self, hit: Hit) -> str:
        parts: list[str] = []
        if hit.turn is not None and hit.turn.index is None:
            parts.append("abandoned by a rewind")
        if hit.also:
            names = [self._name(ref, turn) for ref, turn in hit.also]
            more = f" and {len(names) - _COPIES} more" if len(names) > _COPIES else ""
            parts.append(f"also in {', '.join(names[:_COPIES])}{more}")
        if hit.more and self._firsts.get(hit.ref) is hit:
            parts.append(f"+{counted(hit.more, 'more turn', 'more turns')} of this session")
        return "; ".join(parts)

    def _head(self, hit: Hit, rank: int) -> _Head:
        turn = hit.turn
        cwd = hit.cwd or (hit.session.cwd if hit.session else None)
        source = clean(hit.source or "") or "unknown"
        return _Head(
            label=f"%{rank}",
            score=f"{hit.score:.2f}",
            name=self._point(hit.ref, turn) if hit.ref else source,
            when=age(hit.date),
            code=row(turn, "").code if turn else "",
            folder=short_path(cwd),
        )

    def _point(self, ref: SessionRef, turn: Turn | None) -> str:
        if turn is not None and turn.index is None:
            return clean(f"{self._short[ref]}@{turn.id[:_TURN_ID]}")
        return self._name(ref, turn.index if turn else None)

    def _name(self, ref: SessionRef, at: int | None) -> str:
        return self._short[ref] if at is None else f"{self._short[ref]}@{at}"

    def _first(self, head: _Head) -> Iterator[str]:
        label = styled(pad(head.label, self._indent), bold=True)
        name = styled(head.name, fg="cyan")
        room = self._room
        if room is None:
            parts = (head.score, name, head.when, head.code, head.folder)
            yield label + "  ".join(part for part in parts if part)
            return
        widest = max(cells(other.name) for other in self._heads)
        when = max(cells(other.when) for other in self._heads)
        code = max(cells(other.code) for other in self._heads)
        columns = [f"{head.when:>{when}}"] + ([f"{head.code:>{code}}"] if code else [])
        tail = "  ".join(columns)
        room_left = room - self._indent - len(head.score) - 2 - widest - 2
        if room < _NARROW or cells(tail) > room_left:
            yield label + styled(cut(head.name, room - self._indent), fg="cyan")
            rest = "  ".join(part for part in (head.score, head.when, head.code) if part)
            yield f"{'':{self._indent}}{styled(cut(rest, room - self._indent), dim=True)}"
            return
        folder = cut_left(head.folder, room_left - cells(tail) - 2)
        if cells(folder) < min(_LEAST_FOLDER, cells(head.folder)):
            folder = ""
        padding = " " * (widest - cells(head.name))
        dim = styled(f"{tail}  {folder}".rstrip(), dim=True)
        yield f"{label}{head.score}  {name}{padding}  {dim}"


def _with_matches(prompt: Passage | None, columns: int | None) -> list[Passage]:
    """Return the beginning of a prompt if its first two lines contain every match."""
    if prompt is None:
        return []
    for count in (1, 2):
        lines = fitted(prompt, columns, count, beginning=True)
        marked = sum(end - begin for line in lines for begin, end in line.marks)
        # A mark may continue in the next line, without the space between the lines.
        if marked >= sum(end - begin for begin, end in prompt.marks) - (count - 1):
            return lines
    return []


def highlighted(passage: Passage, *, dim: bool = False) -> str:
    """Make the matching words bold, and the rest dim on request."""
    text, line, before = passage.text, "", 0
    for begin, end in (*passage.marks, (len(text), len(text))):
        line += styled(text[before:begin], dim=True) if dim else text[before:begin]
        line += styled(text[begin:end], bold=True)
        before = end
    return line
