"""Run the command-line program of a terminal."""

import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prong.errors import External, Unavailable

PATIENCE = 10
"""Timeout in seconds: a suspended terminal never answers."""


class ProgramResult(NamedTuple):
    """Exit status and output of a finished program."""

    argv: tuple[str, ...]
    status: int
    output: str
    complaint: str

    @property
    def ok(self) -> bool:
        return self.status == 0

    def error(self, hint: str) -> External:
        reason = next((line for line in self.complaint.splitlines() if line.strip()), "")
        return External(
            f"{self.argv[0]} failed: {reason or f'status {self.status}'}",
            hint=hint,
            argv=list(self.argv),
            status=self.status,
            stderr=self.complaint,
        )


def run(argv: Sequence[str], environ: Mapping[str, str], given: str = "") -> ProgramResult:
    """Run a program to its end, with text on its standard input."""
    try:
        result = subprocess.run(
            argv,
            env=environ,
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise Unavailable(
            f"{argv[0]} is not installed", hint=f"install {argv[0]}, or choose another --terminal"
        ) from None
    except subprocess.TimeoutExpired:
        raise External(
            f"{argv[0]} did not answer in {PATIENCE} s",
            hint="check whether the terminal still responds",
            argv=list(argv),
        ) from None
    output, complaint = (text.decode("utf-8", "replace") for text in (result.stdout, result.stderr))
    return ProgramResult(tuple(argv), result.returncode, output, complaint)
