"""What Codex would take for more than a prompt.

`!` at the very beginning runs a shell command, also in the command line; `/` there is a command
where it is typed. A blank in front keeps both a text. Of what is typed, Codex takes it away again.
"""

from prong.agents.literal import prepared, visible
from prong.worker_ports import Route

_SIGNS = {Route.TYPED: ("!", "/"), Route.ARGUMENT: ("!",), Route.STDIN: ()}


def as_prompt(text: str, route: Route) -> str:
    """The text, changed as little as is needed so that it is a prompt and nothing else."""
    text = prepared(text, route)
    return f" {text}" if visible(text).startswith(_SIGNS[route]) else text
