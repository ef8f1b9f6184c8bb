"""Key names, the same for every terminal: those of tmux."""

import re

from prong.errors import UsageError

_NAMED = {
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "BTab": "\x1b[Z",
    "Space": " ",
    "BSpace": "\x7f",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "Home": "\x1b[H",
    "End": "\x1b[F",
    "IC": "\x1b[2~",
    "DC": "\x1b[3~",
    "PageUp": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "F1": "\x1bOP",
    "F2": "\x1bOQ",
    "F3": "\x1bOR",
    "F4": "\x1bOS",
    "F5": "\x1b[15~",
    "F6": "\x1b[17~",
    "F7": "\x1b[18~",
    "F8": "\x1b[19~",
    "F9": "\x1b[20~",
    "F10": "\x1b[21~",
    "F11": "\x1b[23~",
    "F12": "\x1b[24~",
}
_ALSO = {"Return": "Enter", "Esc": "Escape", "Backspace": "BSpace", "Delete": "DC", "Insert": "IC"}
_CONTROL = re.compile(r"C-([a-zA-Z@\[\\\]^_])", re.ASCII)
_PASTE_END = re.compile("(?:\x1b\\[|\x9b)201~")
_HINT = f"a single character, C-c, M-x, or one of {', '.join([*_NAMED, *_ALSO])}"


def named(name: str) -> str:
    """Return tmux's name of a key. Raises `UsageError` for an unknown one."""
    name = _ALSO.get(name, name)
    typed(name)
    return name


def typed(name: str) -> str:
    """Return the characters that a terminal sends when the key is pressed."""
    name = _ALSO.get(name, name)
    if name in _NAMED:
        return _NAMED[name]
    if len(name) == 1 and name.isprintable():
        return name
    if match := _CONTROL.fullmatch(name):
        return chr(ord(match[1].upper()) & 0x1F)
    if name.startswith("M-") and len(name) > 2:
        return "\x1b" + typed(name[2:])
    raise UsageError(f"unknown key {name!r}", hint=_HINT)


def pasted(text: str) -> str:
    """Remove end-of-paste sequences, so that no part of a bracketed paste acts as keys."""
    while _PASTE_END.search(text):  # removing one may form another
        text = _PASTE_END.sub("", text)
    return text
