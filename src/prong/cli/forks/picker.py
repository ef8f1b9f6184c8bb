"""Turn picker: a list with a filter and a preview."""

import os
import sys
from collections.abc import Callable, Sequence
from threading import Thread

import click

from prong.cli.forks.screen import Screen
from prong.cli.output import styled, width
from prong.cli.sessions.diff import stat_lines
from prong.model.sessions import Turn
from prong.views.text import cells, clean, cut, pad, wrapped
from prong.views.turn_preview import TurnPreview
from prong.views.turn_table import Layout, row

_BESIDE = 120
"""Columns from which the preview is next to the list."""
_BELOW = 80, 16
"""Columns and lines that a preview below the list needs."""
_PAUSE = 0.03
"""Seconds without a key before a preview is computed."""
_WIDEST = 500
_PIPE_WIDTH = 80
_HELP = "enter fork here · ↑↓ move · / filter · esc leave"


def pick(
    turns: Sequence[Turn], title: str, preview: Callable[[Turn], TurnPreview], chosen: int
) -> Turn | None:
    """Let the person choose a turn, starting at `chosen`; return None if they leave."""
    picker = Picker(turns, title, preview, chosen)
    with Screen(sys.stdin.fileno(), sys.stderr.fileno()) as screen:
        return picker.run(screen)


class Picker:
    """State of the picker, and how keys change it."""

    def __init__(
        self,
        turns: Sequence[Turn],
        title: str,
        preview: Callable[[Turn], TurnPreview],
        chosen: int,
    ) -> None:
        self._turns = turns
        rows = [row(turn, str(turn.index)) for turn in turns]
        # No screen is wider, and some prompts are whole files.
        self._rows = [entry._replace(prompt=entry.prompt[:_WIDEST]) for entry in rows]
        self._texts = [
            f"{entry.label} {entry.prompt} {clean(' '.join(turn.files))}".lower()
            for entry, turn in zip(rows, turns, strict=True)
        ]
        self._layouts: dict[int, Layout] = {}
        self._title = clean(title)
        self._preview = preview
        self._previews: dict[int, TurnPreview] = {}
        self._fitting = list(range(len(turns)))
        self._at = chosen
        """Index in `_fitting`."""
        self._top = 0
        self._page = 1
        self._filter: str | None = None
        """None if there is no filter."""
        self._maker: Thread | None = None
        self._error: Exception | None = None

    def run(self, screen: Screen) -> Turn | None:
        while True:
            columns, lines = screen.size()
            screen.draw(self.frame(columns, lines))
            has_room = _is_beside(columns) or _is_below(columns, lines)
            can_make = self._maker is None and has_room and self._fitting
            lacks = can_make and self._fitting[self._at] not in self._previews
            key = screen.key(_PAUSE if lacks else None)
            if self._error is not None:
                raise self._error
            if key is None:
                self._make(self._fitting[self._at], screen.wake)
            elif key == "enter" and self._fitting:
                return self._turns[self._fitting[self._at]]
            elif key == "leave" or (self._filter is None and key in ("escape", "q")):
                return None
            else:
                self.press(key)

    def _make(self, number: int, made: Callable[[], None]) -> None:
        """Compute a preview in a thread: large sessions take long, and keys must not wait."""

        def work() -> None:
            try:
                self._previews[number] = self._preview(self._turns[number])
            except Exception as error:  # noqa: BLE001 -- raised where it can be reported
                self._error = error
            self._maker = None
            made()

        self._maker = Thread(target=work, daemon=True)
        self._maker.start()

    def press(self, key: str) -> None:
        if self._filter is None and key in _WHILE_MOVING:
            key = _WHILE_MOVING[key]
        count = len(self._turns)
        steps = {"up": -1, "down": 1, "page up": -self._page, "page down": self._page}
        steps |= {"home": -count, "end": count}
        if key in steps:
            self._at = max(min(self._at + steps[key], len(self._fitting) - 1), 0)
        elif key == "filter":
            self._narrow("")
        elif self._filter is not None:
            self._narrow(_edited(self._filter, key))

    def _narrow(self, text: str | None) -> None:
        """Show the turns that contain all words; keep the selection if it matches."""
        chosen = self._fitting[self._at] if self._fitting else len(self._turns) - 1
        self._filter = text
        words = (text or "").lower().split()
        self._fitting = [
            number
            for number, haystack in enumerate(self._texts)
            if all(word in haystack for word in words)
        ]
        following = (i for i, number in enumerate(self._fitting) if number >= chosen)
        self._at = next(following, max(len(self._fitting) - 1, 0))

    def frame(self, columns: int, lines: int) -> list[str]:
        room = max(lines - 2, 1)
        if _is_beside(columns):
            left = min(columns * 9 // 20, 90)
            turns = self._list(left, room)
            preview = self._shown(columns - left - 3, room)
            bar = styled(" │ ", dim=True)
            rows = [a + bar + b for a, b in zip(turns, preview, strict=True)]
        elif _is_below(columns, lines):
            height = min(len(self._turns), max(room * 2 // 5, 5))
            rows = self._list(columns, height)
            rows.append(styled("─" * columns, dim=True))
            rows += self._shown(columns, room - height - 1)
        else:
            rows = self._list(columns, room)
        if self._filter is None:
            footer = styled(cut(_HELP, columns), dim=True)
        else:
            count = f"{len(self._fitting)} of {len(self._turns)}"
            footer = cut(f"/{clean(self._filter)}▏ {count}", columns)
        return [styled(cut(self._title, columns), bold=True), *rows, footer][:lines]

    def _list(self, columns: int, height: int) -> list[str]:
        self._page = max(height - 1, 1)
        # Scroll so that the selection is visible.
        self._top = max(min(self._top, self._at), self._at - height + 1, 0)
        self._top = min(self._top, max(len(self._fitting) - height, 0))
        visible = self._fitting[self._top : self._top + height]
        layout = self._layouts.get(columns) or Layout(self._rows, columns - 3, effort=False)
        self._layouts[columns] = layout
        lines: list[str] = []
        for i, number in enumerate(visible, start=self._top):
            start, prompt = layout.parts(self._rows[number])
            if i == self._at:
                # Reverse video, which also works without colours.
                lines.append(click.style(pad(f"> {start}{prompt}", columns), reverse=True))
            else:
                start = f"  {start}"
                lines.append(styled(start, dim=True) + pad(prompt, columns - cells(start)))
        if not visible:
            lines.append(pad("  no turn has these words", columns))
        return [*lines, *[" " * columns] * (height - len(lines))]

    def _shown(self, columns: int, height: int) -> list[str]:
        preview = self._previews.get(self._fitting[self._at]) if self._fitting else None
        lines = preview_lines(preview, columns, height) if preview else []
        return [*lines, *[""] * (height - len(lines))]


_WHILE_MOVING = {"k": "up", "j": "down", "g": "home", "G": "end", "/": "filter", " ": "page down"}


def _edited(text: str, key: str) -> str | None:
    """Return the filter after a key; None ends filtering."""
    match key:
        case "escape":
            return None
        case "backspace":
            return text[:-1] if text else None
        case "clear":
            return ""
        case _:
            return text + key if len(key) == 1 else text


def _is_beside(columns: int) -> bool:
    return columns >= _BESIDE


def _is_below(columns: int, lines: int) -> bool:
    return columns >= _BELOW[0] and lines >= _BELOW[1]


# -- the preview ----------------------------------------------------------------------------------


def preview_lines(preview: TurnPreview, columns: int, height: int) -> list[str]:
    """Return the lines that fit; the answer gets the lines that prompt and code leave."""
    prompt = [styled(line, bold=True) for line in wrapped(preview.prompt, columns)]
    if preview.code is None:
        code = [styled(cut(preview.lack, columns), dim=True)]
    else:
        code = list(stat_lines(preview.code.files, columns))
    code = code or [styled("no code changes", dim=True)]
    above = [*_head(prompt, max(height // 4, 2)), "", *_stat(code, max(height // 3, 3)), ""]
    return [*above, *_head(wrapped(preview.answer, columns), height - len(above))][:height]


def show_preview(preview: TurnPreview) -> None:
    """Print a preview, in fzf's preview window or on stdout."""
    columns, height = (os.environ.get(f"FZF_PREVIEW_{name}", "") for name in ("COLUMNS", "LINES"))
    in_fzf = columns.isdecimal() and height.isdecimal()
    size = (int(columns), int(height)) if in_fzf else (width() or _PIPE_WIDTH, sys.maxsize)
    for line in preview_lines(preview, *size):
        click.echo(line, color=in_fzf or None)


def _head(lines: list[str], height: int) -> list[str]:
    if len(lines) <= height:
        return lines
    return [*lines[: max(height - 1, 0)], styled("…", dim=True)][: max(height, 0)]


def _stat(lines: list[str], height: int) -> list[str]:
    """Cut a diffstat but keep its last line, the total."""
    return lines if len(lines) <= height else [*lines[: height - 2], " …", lines[-1]]
