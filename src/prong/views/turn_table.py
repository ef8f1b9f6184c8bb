"""Table of turns: the text of each column, and the columns that fit the terminal."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from prong.model.amounts import counted
from prong.model.sessions import Turn
from prong.views.text import age, cells, clean, cut, short_number

_STATE_MARKS = {"finished": " ", "interrupted": "!", "failed": "x", "running": ">"}
_WIDE = 100
_MEDIUM = 66


class TurnTableRow(NamedTuple):
    """The columns of a turn, as text."""

    label: str
    when: str
    code: str
    files: str
    commands: str
    tokens: str
    prompt: str


def row(turn: Turn, label: str) -> TurnTableRow:
    failed = sum(command.exit_code not in (0, None) for command in turn.commands)
    prompt = clean(turn.prompt) or "(no prompt)"
    if turn.kind.value != "human":
        prompt = f"[{turn.kind.value}] {prompt}"
    if turn.queued:
        prompt += f" +{len(turn.queued)}"
    commands = counted(len(turn.commands), "cmd") if turn.commands else ""
    # Prefer git's count to the agent's: commands change files too.
    files = turn.changes.files if turn.changes else len(turn.files)
    return TurnTableRow(
        label=clean(label) + _STATE_MARKS[turn.state.value],
        when=age(turn.started),
        code=_code(turn),
        files=counted(files, "file") if files else "",
        commands=f"{commands}, {failed} failed" if failed else commands,
        tokens=short_number(turn.tokens),
        prompt=prompt,
    )


def _code(turn: Turn) -> str:
    changes = turn.changes
    if changes is None:
        label = "*" if turn.snapshot else ""
    else:
        label = f"+{changes.added} -{changes.removed}" if changes.files else "="
    label = f"~{label}" if turn.late else label
    return f"{label} ?".lstrip() if turn.gaps else label


class Layout:
    """Column widths that fit the content. A narrow terminal gets fewer columns."""

    def __init__(
        self, rows: Sequence[TurnTableRow], room: int | None, *, effort: bool = True
    ) -> None:
        """With `effort`, add the commands and tokens columns if there is room."""
        self.room = room
        self.label = max(_widest(row.label for row in rows), 4)
        self.when = _widest(row.when for row in rows)
        self.code = _widest(row.code for row in rows)
        wide = room is None or room >= _WIDE
        medium = room is None or (room >= _MEDIUM and self.code > 0)
        self.files = _widest(row.files for row in rows) if wide or medium else 0
        self.commands = _widest(row.commands for row in rows) if wide and effort else 0
        self.tokens = _widest(row.tokens for row in rows) if (wide or medium) and effort else 0

    def parts(self, row: TurnTableRow) -> tuple[str, str]:
        """Return the columns before the prompt, and as much of the prompt as fits."""
        start = f"{row.label:>{self.label}} {row.when:>{self.when}}  "
        start += f"{row.code:>{self.code}}  " if self.code else ""
        for text, columns in ((row.files, self.files), (row.commands, self.commands)):
            start += f"{text:<{columns}}  " if columns else ""
        start += f"{row.tokens:>{self.tokens}}  " if self.tokens else ""
        prompt = row.prompt
        if self.room is not None:
            prompt = cut(prompt, self.room - cells(start))
        return start, prompt


def _widest(texts: Iterable[str]) -> int:
    return max(map(cells, texts), default=0)
