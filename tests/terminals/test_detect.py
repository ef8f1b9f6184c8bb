"""Which terminal is around us: what people's environments look like."""

import pytest

from prong.terminals.detect import inside

TMUX = {"TMUX": "/run/tmux-1/default,7,0", "TMUX_PANE": "%3"}
KITTY = {"KITTY_WINDOW_ID": "1", "KITTY_PID": "7", "KITTY_LISTEN_ON": "unix:/run/k-7"}
WEZTERM = {"WEZTERM_PANE": "0", "WEZTERM_UNIX_SOCKET": "/run/gui-sock-7"}
ITERM2 = {"ITERM_SESSION_ID": "w0t0p0:X", "LC_TERMINAL": "iTerm2"}
SCREEN_TERM = {"TERM": "screen-256color"}
TMUX_TERM = {"TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}
PLAIN_TERM = {"TERM": "xterm-256color"}
KITTY_TERM = {"TERM": "xterm-kitty"}
WEZTERM_TERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}
ITERM2_TERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ()),
        (PLAIN_TERM, ()),
        ({"TERM": "dumb"}, ()),
        # one
        (TMUX | TMUX_TERM, ("tmux",)),
        (KITTY | KITTY_TERM, ("kitty",)),
        (WEZTERM | WEZTERM_TERM, ("wezterm",)),
        (ITERM2 | ITERM2_TERM, ("iterm2",)),
        # an agent's shell often has no TERM of its own
        (TMUX, ("tmux",)),
        (TMUX | {"TERM": "dumb"}, ("tmux",)),
        (KITTY | TMUX | {"TERM": "dumb"}, ("tmux", "kitty")),
        # tmux in another one
        (KITTY | TMUX | TMUX_TERM, ("tmux", "kitty")),
        (KITTY | TMUX | SCREEN_TERM, ("tmux", "kitty")),
        (WEZTERM | TMUX | TMUX_TERM, ("tmux", "wezterm")),
        (ITERM2 | TMUX | TMUX_TERM, ("tmux", "iterm2")),
        # an old tmux leaves TERM_PROGRAM as it was
        (ITERM2 | ITERM2_TERM | TMUX | SCREEN_TERM, ("tmux", "iterm2")),
        # default-terminal set to what others use
        (WEZTERM | TMUX | PLAIN_TERM | {"TERM_PROGRAM": "tmux"}, ("tmux", "wezterm")),
        # another one, opened from tmux
        (TMUX | TMUX_TERM | KITTY | KITTY_TERM, ("kitty", "tmux")),
        (TMUX | TMUX_TERM | WEZTERM | WEZTERM_TERM, ("wezterm", "tmux")),
        (KITTY | WEZTERM | WEZTERM_TERM, ("wezterm", "kitty")),
        # one that prong does not know, opened from one that it knows
        (TMUX | PLAIN_TERM | {"TERM_PROGRAM": "vscode"}, ()),
        (KITTY | PLAIN_TERM | {"TERM_PROGRAM": "Apple_Terminal"}, ()),
        # by ssh from kitty, which sends TERM along; and GNU screen
        (KITTY_TERM, ()),
        (SCREEN_TERM | {"STY": "1.x"}, ()),
        # sudo leaves TERM, and takes the rest
        (TMUX_TERM, ()),
        # half of it is nothing
        ({"TMUX": TMUX["TMUX"]} | TMUX_TERM, ()),
        ({"TMUX": "", "TMUX_PANE": ""} | PLAIN_TERM, ()),
        # a screen is not asked for: kitty's socket works without one
        (KITTY | KITTY_TERM | {"DISPLAY": ""}, ("kitty",)),
    ],
)
def test_the_innermost_comes_first(environ: dict[str, str], expected: tuple[str, ...]) -> None:
    assert inside(environ) == expected
