"""What Claude Code would take for more than a prompt.

`!` at the very beginning is shell mode where it is typed; a blank in front keeps it a text. A `/`
in front, behind any blanks, is a command everywhere, and `exit` alone ends the program: only a line
before it helps. A mention (`@/etc/passwd`) has Claude Code read the file without asking for the
permission that its tools need outside of the folder; a backslash keeps it a text.
"""

import re

from prong.agents.literal import prepared, visible, without_invisible
from prong.worker_ports import Route

_LINE = "Prompt:"
_ENDS = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
_MENTION = re.compile(r"""(^|[\s\u3002\u3001\uff1f\uff01])@(?=["\[/\\~]|[^\s]*(?:\.\.|:))""")
"""One that may lead out of the folder: a path from the top, a quoted one, a resource of a server.

What lies in the folder may be read without a question, so such a mention stays as it is.
"""


def as_prompt(text: str, route: Route) -> str:
    """The text, changed as little as is needed so that it is a prompt and nothing else."""
    if route is Route.TYPED:
        # Claude Code takes it out itself, and then wants another Enter.
        text = without_invisible(text)
    text = _MENTION.sub(r"\1\\@", prepared(text, route))
    seen = visible(text)
    if seen.lstrip().startswith("/") or seen.strip().lower() in _ENDS:
        return f"{_LINE}\n{text}"
    if route is Route.TYPED and seen.startswith("!"):
        return f" {text}"
    return text
