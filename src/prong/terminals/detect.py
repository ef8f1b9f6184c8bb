"""Detect which terminals this process runs in, from environment variables.

Programs inherit the variables of every terminal around them: a tmux in kitty has those of both,
and so does a kitty opened from tmux. TERM and TERM_PROGRAM identify the innermost terminal,
because each terminal sets at least one of them.
"""

from collections.abc import Mapping

_MARKS = {
    "tmux": ("TMUX", "TMUX_PANE"),
    "kitty": ("KITTY_WINDOW_ID",),
    "wezterm": ("WEZTERM_PANE",),
    "iterm2": ("ITERM_SESSION_ID",),
}
"""Variables that each terminal sets; innermost first, the order used when TERM decides nothing."""
_PROGRAMS = {"tmux": "tmux", "wezterm": "wezterm", "iterm.app": "iterm2", "kitty": "kitty"}
"""Values of TERM_PROGRAM, in lower case."""
_KINDS = {"tmux": "tmux", "screen": "tmux", "xterm-kitty": "kitty", "wezterm": "wezterm"}
"""Prefixes of TERM. Other values, like xterm-256color, are shared by many terminals."""


def inside(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the terminals around this process, the innermost first.

    Empty when the innermost one is unknown to prong: the others are hidden behind it.
    """
    around = [name for name, marks in _MARKS.items() if all(environ.get(mark) for mark in marks)]
    term = environ.get("TERM", "")
    innermost = next((name for prefix, name in _KINDS.items() if term.startswith(prefix)), None)
    # kitty and old versions of tmux keep an inherited TERM_PROGRAM, so TERM decides first.
    if innermost is None and (program := environ.get("TERM_PROGRAM")):
        innermost = _PROGRAMS.get(program.lower(), program)
    if innermost is None:
        return tuple(around)
    if innermost not in around:
        return ()
    return (innermost, *(name for name in around if name != innermost))
