"""Draws the picture of the README: `python docs/images/picture.py > docs/images/list.svg`.

It is a real one: the commands run on the samples of `prong demo`, in a terminal of their own, and
what they print is drawn character by character.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from prong.app import App

COLUMNS = 104
CELL = (8.4, 19)
MARGIN = 14
COLOURS = {31: "#e06c75", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 36: "#56b6c2"}
INK, PAPER, FAINT = "#d7dae0", "#1e2127", "#7f848e"

Style = tuple[str, bool]
"""A colour, and whether it is bold."""


def typed(words: list[str], environment: dict[str, str], cwd: Path) -> str:
    """What a command prints on a terminal."""
    parent, child = pty.openpty()
    program = str(Path(sys.executable).with_name("prong"))
    with subprocess.Popen(
        [program, *words], stdin=child, stdout=child, stderr=child, env=environment, cwd=cwd
    ):
        os.close(child)
        printed = b""
        try:
            while block := os.read(parent, 65536):
                printed += block
        except OSError:
            # Linux says so when the other side is closed.
            pass
        os.close(parent)
    return printed.decode().replace("\r\n", "\n").replace(str(cwd.parent), "~")


def runs(line: str) -> list[tuple[str, Style]]:
    """The pieces of a line that look alike."""
    pieces: list[tuple[str, Style]] = []
    colour, bold = INK, False
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if not part.startswith("\x1b"):
            pieces += [(part, (colour, bold))] if part else []
            continue
        for code in (int(code or 0) for code in part[2:-1].split(";")):
            if code == 0:
                colour, bold = INK, False
            elif code == 1:
                bold = True
            elif code == 2:
                colour = FAINT
            else:
                colour = COLOURS.get(code, colour)
    return pieces


def drawn(text: str) -> str:
    """The text as SVG."""
    lines = text.rstrip("\n").split("\n")
    width = COLUMNS * CELL[0] + 2 * MARGIN
    height = len(lines) * CELL[1] + 2 * MARGIN
    rows: list[str] = []
    for number, line in enumerate(lines):
        at = 0
        y = MARGIN + (number + 0.75) * CELL[1]
        for piece, (colour, bold) in runs(line):
            weight = ' font-weight="bold"' if bold else ""
            x = MARGIN + at * CELL[0]
            length = len(piece) * CELL[0]
            rows.append(
                f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{weight} '
                f'textLength="{length:.1f}" xml:space="preserve">{escape(piece)}</text>'
            )
            at += len(piece)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-size="14" '
        'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace">'
    )
    return "\n".join(
        [
            head,
            f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
            *rows,
            "</svg>",
        ]
    )


def main() -> None:
    """Draw the commands that the README speaks of."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        demo = App(remember=False).demo(home)
        session = f"{demo.sessions[0].agent}:{demo.sessions[0].id[:8]}"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": str(COLUMNS),
        }
        text = ""
        for words in (["list"], ["turns", session], ["tree"]):
            text += f"\x1b[1m$ prong {' '.join(words)}\x1b[0m\n"
            text += typed(words, environment, demo.repository) + "\n"
    sys.stdout.write(drawn(text) + "\n")


if __name__ == "__main__":
    main()
