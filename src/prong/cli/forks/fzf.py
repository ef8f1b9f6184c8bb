"""Choosing a turn with fzf."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prong.errors import External
from prong.views.text import clean
from prong.views.turn_table import Layout, row

if TYPE_CHECKING:
    from prong.model.sessions import Turn

PREVIEW = '"$PRONG_PYTHON" -P -m prong fork --preview "$PRONG_SESSION"@{1}'
"""Preview command that fzf runs in a shell; variables keep their values out of its syntax.

`-P` because Python would import modules from the folder, which may belong to anybody.
"""
_NOTHING_CHOSEN = (1, 130)


def is_installed() -> bool:
    import shutil

    return shutil.which("fzf") is not None


def pick(turns: "Sequence[Turn]", title: str, session: str) -> "Turn | None":
    """Let the person choose a turn; return None if they leave.

    `session` is the session's reference on the command line.
    """
    import subprocess

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
