"""Asking at which turn to fork, with prong's own list or fzf."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

import click

from prong.cli.forks import picker
from prong.cli.output import can_ask, note, patience
from prong.code.service import CodeService
from prong.errors import External
from prong.model.sessions import Turn
from prong.session.service import SessionService
from prong.views import turn_preview
from prong.views.text import clean
from prong.views.turn_table import Layout, row

PREVIEW = '"$PRONG_PYTHON" -P -m prong fork --preview "$PRONG_SESSION"@{1}'
"""Preview command that fzf runs in a shell; variables keep their values out of its syntax.

`-P` because Python would import modules from the folder, which may belong to anybody.
"""
_NOTHING_CHOSEN = (1, 130)


def ask(sessions: SessionService, code: CodeService, session: str, title: str, program: str) -> str:
    """Let the person choose a turn and return `SESSION@TURN`. `program` shows the list.

    Return `session` unchanged if it names a turn or a worker, has only one turn, or nobody can be
    asked.
    """
    if not can_ask() or os.environ.get("TERM", "dumb") == "dumb":
        return session
    with patience():
        point = sessions.resolve(session)
        if point.turn is not None or point.worker is not None:
            return session
        conversation = code.with_code(sessions.conversation(point.session))
    turns = conversation.turns
    if len(turns) < 2:
        return session
    # `last` may change meanwhile, so use the id; only a path cannot be found by its id.
    is_path = os.path.isfile(session)
    name = session if is_path else str(point.session.ref)
    title = f"{title} {clean(point.session.title)}"
    if program == "fzf" and shutil.which("fzf") is not None:
        turn = _pick_with_fzf(turns, title, name)
    else:
        if program == "fzf":
            note("fzf is not installed: this is prong's own list")
        # The agent may still be working on the last turn.
        finished = [i for i, turn in enumerate(turns) if turn.state.value != "running"]
        preview = partial(turn_preview.read, sessions, code, conversation)
        turn = picker.pick(turns, title, preview, finished[-1] if finished else len(turns) - 1)
    if turn is None:
        raise click.Abort
    # The turn's number may change if the session is rewound meanwhile.
    return f"{name}@{turn.index if turn.id.isdecimal() else turn.id}"


def _pick_with_fzf(turns: Sequence[Turn], title: str, session: str) -> Turn | None:
    """Return the chosen turn, or None. `session` is its reference on the command line."""
    rows = [row(turn, str(turn.index)) for turn in turns]
    layout = Layout(rows, None, effort=False)
    # fzf selects the first line, which it shows at the bottom: the newest turn.
    lines = [
        f"{turn.index}\t{''.join(layout.parts(cells))}"
        for turn, cells in reversed(list(zip(turns, rows, strict=True)))
    ]
    argv = [
        *("fzf", "--no-multi", "--no-sort", "--delimiter=\t", "--with-nth=2.."),
        *("--preview-window=down,60%,wrap", f"--preview={PREVIEW}"),
        *("--header", clean(title), "--prompt=fork at> "),
    ]
    variables = {"PRONG_PYTHON": sys.executable, "PRONG_SESSION": session}
    result = subprocess.run(
        argv,
        input="\n".join(lines).encode(),
        stdout=subprocess.PIPE,
        env=os.environ | variables,
        check=False,
    )
    if result.returncode in _NOTHING_CHOSEN:
        return None
    if result.returncode != 0:
        raise External(
            f"fzf failed with status {result.returncode}",
            hint='program = "builtin" below [picker] in config.toml does without it',
            argv=argv,
            status=result.returncode,
        )
    # With --print-query in the user's own options, the query precedes the choice.
    chosen = result.stdout.splitlines()[-1]
    number = int(chosen.split(b"\t")[0])
    return next(turn for turn in turns if turn.index == number)
