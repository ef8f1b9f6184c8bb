"""Table of search hits: reference, prompt and matching passage."""

from collections.abc import Iterator

import click

from prong.cli.output import fitted, styled
from prong.model.amounts import counted
from prong.model.search import Hit, Passage, SearchResult
from prong.model.sessions import SessionRef
from prong.views import passage as passages
from prong.views.passage import cleaned, within
from prong.views.text import age, cells, clean, cut, cut_left, pad, short_path, short_refs, wrapped
from prong.views.turn_table import row

_NARROW = 60
_LEAST_FOLDER = 8
_TURN_ID = 8
_COPIES = 3


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
        self._indent = len(f"%{max(len(result.hits), 1)}") + 2
        self._points = [self._point(hit) for hit in result.hits]
        self._when = max((cells(age(hit.date)) for hit in result.hits), default=0)
        self._code = max((cells(_code(hit)) for hit in result.hits), default=0)

    def print(self, most: int | None = None) -> int:
        """Print at least one hit and at most `most` lines; return the number of hits printed."""
        ranks = range(1, len(self._hits) + 1)
        blocks = [list(self.lines(rank)) for rank in ranks]
        if most is not None and sum(map(len, blocks)) > most:
            self._passage_lines = 1
            blocks = [list(self.lines(rank)) for rank in ranks]
        used = 0
        for count, lines in enumerate(blocks):
            used += len(lines)
            if most is not None and used > most and count:
                return count
            click.echo("\n".join(lines))
        return len(blocks)

    def lines(self, rank: int) -> Iterator[str]:
        hit = self._hits[rank - 1]
        yield from self._first(hit, rank)
        columns = self._room and self._room - self._indent
        for text in self._body(hit, columns):
            yield f"{'':{self._indent}}{text}"

    def _body(self, hit: Hit, columns: int | None) -> Iterator[str]:
        if title := self._title(hit):
            yield fitted(title, columns)
        yield from self._said(hit, columns)
        if hit.warning:
            warning = clean(hit.warning)
            for line in [warning] if columns is None else wrapped(warning, columns):
                yield styled(line, fg="yellow")
        if rest := self._rest(hit):
            yield styled(fitted(rest, columns), dim=True)

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
            for line in lines or passages.fitted(Passage(prompt), columns, 1):
                yield highlighted(line)
        for line in passages.fitted(passage, columns, self._passage_lines):
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

    def _point(self, hit: Hit) -> str:
        if hit.ref is None:
            return clean(hit.source or "") or "unknown"
        turn = hit.turn
        if turn is not None and turn.index is None:
            return clean(f"{self._short[hit.ref]}@{turn.id[:_TURN_ID]}")
        return self._name(hit.ref, turn.index if turn else None)

    def _name(self, ref: SessionRef, at: int | None) -> str:
        return self._short[ref] if at is None else f"{self._short[ref]}@{at}"

    def _first(self, hit: Hit, rank: int) -> Iterator[str]:
        """Yield reference, score, age, code and folder; two lines if the terminal is narrow."""
        name, score, when, code = (
            self._points[rank - 1],
            f"{hit.score:.2f}",
            age(hit.date),
            _code(hit),
        )
        folder = short_path(hit.cwd or (hit.session.cwd if hit.session else None))
        label = styled(pad(f"%{rank}", self._indent), bold=True)
        if self._room is None:
            parts = (score, styled(name, fg="cyan"), when, code, folder)
            yield label + "  ".join(part for part in parts if part)
            return
        room = self._room - self._indent
        tail = f"{when:>{self._when}}" + (f"  {code:>{self._code}}" if self._code else "")
        widest = max(map(cells, self._points))
        room_left = room - len(score) - 2 - widest - 2
        if self._room < _NARROW or cells(tail) > room_left:
            yield label + styled(cut(name, room), fg="cyan")
            rest = "  ".join(part for part in (score, when, code) if part)
            yield f"{'':{self._indent}}{styled(cut(rest, room), dim=True)}"
            return
        shown = cut_left(folder, room_left - cells(tail) - 2)
        if cells(shown) < min(_LEAST_FOLDER, cells(folder)):
            shown = ""
        dim = styled(f"{tail}  {shown}".rstrip(), dim=True)
        padding = " " * (widest - cells(name))
        yield f"{label}{score}  {styled(name, fg='cyan')}{padding}  {dim}"


def _code(hit: Hit) -> str:
    return row(hit.turn, "").code if hit.turn else ""


def _with_matches(prompt: Passage | None, columns: int | None) -> list[Passage]:
    """Return the beginning of a prompt if its first two lines contain every match."""
    if prompt is None:
        return []
    for count in (1, 2):
        lines = passages.fitted(prompt, columns, count, beginning=True)
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
