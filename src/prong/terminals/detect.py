"""Which terminals this process runs in, as far as the environment tells.

Every terminal leaves variables behind, and whatever is started inside of it inherits them: a tmux
in kitty has those of both, and so has a kitty that was opened from tmux. TERM and TERM_PROGRAM
tell who was last, because each terminal sets at least one of them anew.
"""

from __future__ import annotations

from collections.abc import Mapping

_MARKS = {
    "tmux": ("TMUX", "TMUX_PANE"),
    "kitty": ("KITTY_WINDOW_ID",),
    "wezterm": ("WEZTERM_PANE",),
    "iterm2": ("ITERM_SESSION_ID",),
}
"""What each sets for its programs. The order holds where nothing else tells: inside out."""
_PROGRAMS = {"tmux": "tmux", "wezterm": "wezterm", "iterm.app": "iterm2", "kitty": "kitty"}
"""TERM_PROGRAM, in small letters."""
_KINDS = {"tmux": "tmux", "screen": "tmux", "xterm-kitty": "kitty", "wezterm": "wezterm"}
"""How TERM begins. Others, like xterm-256color, are used by many."""


def inside(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The terminals around this process, the innermost first.

    Nothing when the innermost is one that prong does not know: the others are behind it.
    """
    around = [name for name, marks in _MARKS.items() if all(environ.get(mark) for mark in marks)]
    kind = environ.get("TERM", "")
    innermost = next((name for start, name in _KINDS.items() if kind.startswith(start)), None)
    # kitty leaves TERM_PROGRAM as it was, and old versions of tmux do: TERM comes first.
    if innermost is None and (program := environ.get("TERM_PROGRAM")):
        innermost = _PROGRAMS.get(program.lower(), program)
    if innermost is None:
        return tuple(around)
    if innermost not in around:
        return ()
    return (innermost, *(name for name in around if name != innermost))
