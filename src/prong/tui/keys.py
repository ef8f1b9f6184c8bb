"""The keys, as they are told of."""

from collections.abc import Iterable, Sequence

from prong.tui.turn_entries import MARKS

Part = tuple[str, Sequence[tuple[str, str]]]


def key_names(keys: Iterable[str]) -> list[str]:
    """As they stand on a keyboard: `alt+shift+f` is Alt+Shift+F."""
    return ["+".join(_name(part) for part in key.split("+")) for key in keys]


def _name(part: str) -> str:
    # A letter alone is that letter: F is Shift and f.
    return part if len(part) == 1 and part.isupper() else part.capitalize()


def help_parts(fork_keys: Iterable[str]) -> list[Part]:
    """All keys by where they work."""
    return [
        (
            "Everywhere",
            [
                (" or ".join(key_names(fork_keys)), "fork at the turn where the cursor is"),
                ("Ctrl+P", "the palette: every command by its name"),
                ("F2 F3 F4", "sessions, the tree of forks, workers"),
                ("t", "the whole transcript"),
                ("d", "what the turn changed in the code"),
                ("r", "resume: leave the screen to the agent, in the session itself"),
                ("y", "copy the name of the session and turn"),
                ("F1", "this page"),
                ("Esc", "back; in the search, clear it"),
                ("Ctrl+C, Ctrl+Q", "leave; workers run on"),
            ],
        ),
        (
            "Sessions",
            [
                ("typing", "searches; up and down move in the list meanwhile"),
                ("Enter", "the turns of the session"),
                ("Tab", "from the search to the filters and the list"),
                ("/", "back to the search"),
                ("a p s c o", "agent, project, since, code kept, order (with Alt while typing)"),
                ("Ctrl+R", "look for what is new"),
            ],
        ),
        (
            "Turns",
            [
                ("Enter", "fork here"),
                ("A", "also turns that a rewind left"),
                *((sign, meaning) for sign, meaning in MARKS),
                ("! x >", "interrupted, failed, running"),
            ],
        ),
        (
            "Text",
            [
                ("Space, b", "a page down, up"),
                ("n, N", "the next match, the one before"),
                ("g, G", "top, end"),
            ],
        ),
        (
            "Workers",
            [
                ("Enter, a", "attach: go to its pane"),
                ("s", "send it a prompt"),
                ("w", "wait until it is done"),
                ("x", "stop it; X takes one that is gone from the list"),
                ("R", "restart one that is gone"),
                ("l", "its transcript"),
                ("c", "clone it with its folder"),
                ("n", "rename it"),
            ],
        ),
    ]
