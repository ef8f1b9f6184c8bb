"""A terminal for a command: a pty, with the size one asks for."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from dataclasses import dataclass

from tests.cli.shell import Shell, prong


@dataclass(frozen=True)
class Shown:
    """What appeared, and how the command ended."""

    output: str
    status: int

    @property
    def lines(self) -> list[str]:
        """What stays there: of a line that was written over, what stands behind the last return."""
        return [line.rpartition("\r")[2] for line in self.output.removesuffix("\r\n").split("\r\n")]


def on_terminal(shell: Shell, *words: str, size: tuple[int, int] = (24, 80), **env: str) -> Shown:
    """Type a command in a terminal of this many lines and columns."""
    return run_on_terminal(shell, prong(*words), size, **env)


def run_on_terminal(
    shell: Shell, argv: list[str], size: tuple[int, int] = (24, 80), **env: str
) -> Shown:
    """Run a program whose input and output are a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=shell.env(**env))
    os.close(slave)
    pieces: list[bytes] = []
    try:
        # Reading from a pty whose other end is closed is an error, not an end.
        while piece := os.read(master, 1 << 16):
            pieces.append(piece)
    except OSError:
        pass
    finally:
        os.close(master)
    return Shown(b"".join(pieces).decode(), process.wait(60))
