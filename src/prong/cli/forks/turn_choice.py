"""At which turn to fork: asked where somebody can answer."""

import os
from typing import TYPE_CHECKING

import click

from prong.cli.output import can_ask, note, patience
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.sessions import Conversation, Turn


def ask(app: "App", session: str, title: str) -> str:
    """`SESSION@TURN` as the person chooses it; as it was given where nothing is to be asked.

    That is where a turn is named, where there is one only, and where nobody sits at a terminal.
    Who names a worker means it as it is now.
    """
    if not can_ask() or os.environ.get("TERM", "dumb") == "dumb":
        return session
    with patience():
        found = app.resolve(session)
        if found.turn is not None or found.worker is not None:
            return session
        conversation = app.with_code(app.conversation(found.session))
    if len(conversation.turns) < 2:
        return session
    # `last` may be another one in a moment; only a path is not found by its id.
    is_path = os.path.isfile(session)  # noqa: PTH113 -- it may be anything
    name = session if is_path else str(found.session.ref)
    turn = _chosen(app, conversation, name, f"{title} {clean(found.session.title)}")
    if turn is None:
        raise click.Abort
    # Its number may be another one when the session is rewound meanwhile.
    return f"{name}@{turn.index if turn.id.isdecimal() else turn.id}"


def _chosen(app: "App", conversation: "Conversation", name: str, title: str) -> "Turn | None":
    turns = conversation.turns
    if app.settings.picker == "fzf":
        from prong.cli.forks import fzf

        if fzf.is_installed():
            return fzf.pick(turns, title, name)
        note("fzf is not installed: this is prong's own list")
    from functools import partial

    from prong.cli.forks import picker
    from prong.views import turn_preview

    # The agent is still at the last one, perhaps.
    over = [at for at, turn in enumerate(turns) if turn.state.value != "running"]
    preview = partial(turn_preview.read, app, conversation)
    return picker.pick(turns, title, preview, over[-1] if over else len(turns) - 1)
