"""Texts that an agent's input line takes as a prompt, whatever they begin with.

The rules of each agent are in its module `literal`; how they were measured is in
docs/internals/input-lines.md.
"""

import re
import unicodedata

from prong.agents.worker_base import Route

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_DRAWN = frozenset({"Cc", "Cf", "Cs", "Co", "Mn", "Me"})
_BLANK = frozenset(" \t\n\r\v\f")
_FILLERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def without_controls(text: str) -> str:
    """The text without what a terminal takes for keys: all but its tabs and the ends of lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def without_invisible(text: str) -> str:
    """The text without what nobody sees. What joins the parts of one emoji stays."""
    return "".join(
        one
        for one in text
        if one == "\u200d" or (unicodedata.category(one) != "Cf" and one not in _FILLERS)
    )


def visible(text: str) -> str:
    """What is left when an agent takes invisible characters out, as Claude Code does.

    Wide forms (`\uff01`) become the plain ones: it costs nothing to be careful with them.
    """
    return unicodedata.normalize("NFKC", "".join(one for one in text if _is_drawn(one)))


def _is_drawn(one: str) -> bool:
    if one in _BLANK:
        return True
    return unicodedata.category(one) not in _NOT_DRAWN and one not in _FILLERS


def prepared(text: str, route: Route) -> str:
    """What is typed, without controls and with no popup open at its end; all else as it is.

    The blank ends a word such as `@src` or `$skill`, whose popup would take the Enter for itself,
    and a last backslash, which would make a new line of it. The agents take it away again.
    """
    return f"{without_controls(text)} " if route is Route.TYPED else text
