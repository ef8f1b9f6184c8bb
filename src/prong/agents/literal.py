"""Make text safe for an agent's input line, so that it is taken as a prompt, not as a command.

Each agent defines its own rules in `as_prompt`; docs/internals/input-lines.md describes how they
were measured.
"""

import re
import unicodedata

from prong.model.workers import Route

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_DRAWN = frozenset({"Cc", "Cf", "Cs", "Co", "Mn", "Me"})
_BLANK = frozenset(" \t\n\r\v\f")
_PICTURE = re.compile(
    r"^(?=[ \t]*[\"']?(?:[/~]|file:))(?=[^\n]*\.(?:png|jpe?g|gif|webp|bmp)[\"']?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that is a path of a picture. Pasted, it would become an attachment."""
_FILLERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def without_controls(text: str) -> str:
    """Remove the control characters that a terminal takes for keys; keep tabs and line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def without_invisible(text: str) -> str:
    """Remove invisible characters, except the joiner inside emoji."""
    return "".join(
        char
        for char in text
        if char == "\u200d" or (unicodedata.category(char) != "Cf" and char not in _FILLERS)
    )


def visible(text: str) -> str:
    """Remove invisible characters as Claude Code does, and make wide forms (`\uff01`) plain."""
    drawn = (
        char
        for char in text
        if char in _BLANK or not (unicodedata.category(char) in _NOT_DRAWN or char in _FILLERS)
    )
    return unicodedata.normalize("NFKC", "".join(drawn))


def prepared(text: str, route: Route) -> str:
    """Prepare a prompt for typing: remove controls and append a space; other routes keep it.

    The space closes the popup of a last word such as `@src` or `$skill`, which would take the
    Enter, and keeps a last backslash from making it a line break. Agents strip it again.
    """
    return f"{_PICTURE.sub('Image: ', without_controls(text))} " if route is Route.TYPED else text
