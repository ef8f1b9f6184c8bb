"""Help screen: all keys, grouped by where they work."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from prong.tui.content.turn_entries import MARKS
from prong.tui.screens.dialogs import Dialog
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.page import Page

Part = tuple[str, Sequence[tuple[str, str]]]
"""A heading, and keys with what they do."""

_KEY = 18


class HelpScreen(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "leave", "Close")]

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__()
        self._parts = parts
        self._page = Page(id="keys")

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("Keys", id="dialog-title")
            yield self._page

    def on_mount(self) -> None:
        lines: list[Line] = []
        for heading, keys in self._parts:
            lines += [Line(heading, "heading")]
            lines += [
                line((f"  {key:<{_KEY}}", "name"), description)._replace(hanging=2 + _KEY)
                for key, description in keys
            ]
            lines.append(Line())
        self._page.fill(lines)
        self._page.focus()

    def action_leave(self) -> None:
        self.answer(None)


def key_names(keys: Iterable[str]) -> list[str]:
    """Format keys as on a keyboard: `alt+shift+f` is Alt+Shift+F."""
    return ["+".join(_name(part) for part in key.split("+")) for key in keys]


def _name(part: str) -> str:
    # An uppercase letter stays: F is Shift and f.
    return part if len(part) == 1 and part.isupper() else part.capitalize()


def help_parts(fork_keys: Iterable[str]) -> list[Part]:
    """Return all keys, grouped by where they work."""
    return [
        (
            "Everywhere",
            [
                (" or ".join(key_names(fork_keys)), "fork at the selected turn"),
                ("Ctrl+P", "command palette"),
                ("F2 F3 F4", "sessions, the tree of forks, workers"),
                ("t", "the whole transcript"),
                ("d", "code changes of the turn"),
                ("r", "resume the session in this terminal"),
                ("y", "copy the name of the session and turn"),
                ("F1", "this help"),
                ("Esc", "back; clears the search"),
                ("Ctrl+C, Ctrl+Q", "quit; workers keep running"),
            ],
        ),
        (
            "Sessions",
            [
                ("typing", "search; up and down move in the list"),
                ("Enter", "the turns of the session"),
                ("Tab", "move to the filters and the list"),
                ("/", "back to the search"),
                ("a p s c o", "agent, project, since, captured code, order (Alt while typing)"),
                ("Ctrl+R", "refresh"),
            ],
        ),
        (
            "Turns",
            [
                ("Enter", "fork here"),
                ("A", "show turns abandoned by rewinds"),
                *MARKS,
                ("! x >", "interrupted, failed, running"),
            ],
        ),
        (
            "Text",
            [
                ("Space, b", "page down, page up"),
                ("n, N", "next match, previous match"),
                ("g, G", "top, end"),
            ],
        ),
        (
            "Workers",
            [
                ("Enter, a", "attach to its pane"),
                ("s", "send a prompt"),
                ("w", "wait until it is idle"),
                ("x", "stop it; X removes it from the list"),
                ("R", "restart it"),
                ("l", "its transcript"),
                ("c", "clone it"),
                ("n", "rename it"),
            ],
        ),
    ]
