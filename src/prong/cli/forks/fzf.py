"""Choosing a turn with fzf, for those who have it in their fingers."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prong.errors import External
from prong.views.text import clean
from prong.views.turn_table import Layout, row

if TYPE_CHECKING:
    from prong.model.sessions import Turn

_PREVIEW = '"$PRONG_PYTHON" -m prong fork --preview "$PRONG_SESSION"@{1}'
"""fzf gives this to a shell. What is in the variables is no part of the line."""
_NOTHING_CHOSEN = (1, 130)


def is_installed() -> bool:
    import shutil

    return shutil.which("fzf") is not None


def pick(turns: "Sequence[Turn]", title: str, session: str) -> "Turn | None":
    """The turn that the person chooses; None when they leave.

    `session` is what names it on the command line.
    """
    import subprocess

    rows = [row(turn, str(turn.index)) for turn in turns]
    layout = Layout(rows, None, effort=False)
    # The first line is the one that is chosen, at the bottom: the newest.
    lines = [
        f"{turn.index}\t{''.join(layout.parts(one))}"
        for turn, one in reversed(list(zip(turns, rows, strict=True)))
    ]
    argv = [
        *("fzf", "--no-multi", "--no-sort", "--delimiter=\t", "--with-nth=2.."),
        *("--preview-window=down,60%,wrap", f"--preview={_PREVIEW}"),
        *("--header", clean(title), "--prompt=fork at> "),
    ]
    variables = {"PRONG_PYTHON": sys.executable, "PRONG_SESSION": session}
    done = subprocess.run(
        argv,
        input="\n".join(lines).encode(),
        stdout=subprocess.PIPE,
        env=os.environ | variables,
        check=False,
    )
    if done.returncode in _NOTHING_CHOSEN:
        return None
    if done.returncode != 0:
        raise External(
            f"fzf failed with status {done.returncode}",
            hint='program = "builtin" below [picker] in config.toml does without it',
            argv=argv,
            status=done.returncode,
        )
    # Before it stands what was typed, when the person's own options want that.
    chosen = done.stdout.splitlines()[-1]
    number = int(chosen.split(b"\t")[0])
    return next(turn for turn in turns if turn.index == number)
