"""Asking at which turn to fork."""

import os
from typing import TYPE_CHECKING

import click

from prong.cli.output import can_ask, note, patience
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.sessions import Conversation, Turn


def ask(app: "App", session: str, title: str) -> str:
    """Let the person choose a turn and return `SESSION@TURN`.

    Return `session` unchanged if it names a turn or a worker, has only one turn, or nobody can be
    asked.
    """
    if not can_ask() or os.environ.get("TERM", "dumb") == "dumb":
        return session
    with patience():
        point = app.sessions.resolve(session)
        if point.turn is not None or point.worker is not None:
            return session
        conversation = app.code.with_code(app.sessions.conversation(point.session))
    if len(conversation.turns) < 2:
        return session
    # `last` may change meanwhile, so use the id; only a path cannot be found by its id.
    is_path = os.path.isfile(session)
    name = session if is_path else str(point.session.ref)
    turn = _chosen(app, conversation, name, f"{title} {clean(point.session.title)}")
    if turn is None:
        raise click.Abort
    # The turn's number may change if the session is rewound meanwhile.
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

    # The agent may still be working on the last turn.
    finished = [i for i, turn in enumerate(turns) if turn.state.value != "running"]
    preview = partial(turn_preview.read, app.sessions, app.code, conversation)
    return picker.pick(turns, title, preview, finished[-1] if finished else len(turns) - 1)
