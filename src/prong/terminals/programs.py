"""Running a terminal's own command-line program."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prong.errors import External, Unavailable

PATIENCE = 10
"""How many seconds a terminal may take to answer: one that is stopped never does."""


class ProgramResult(NamedTuple):
    """What a run of the program gave."""

    argv: tuple[str, ...]
    status: int
    output: str
    complaint: str

    @property
    def ok(self) -> bool:
        return self.status == 0

    def error(self, hint: str) -> External:
        first = next((line for line in self.complaint.splitlines() if line.strip()), "")
        return External(
            f"{self.argv[0]} failed: {first or f'status {self.status}'}",
            hint=hint,
            argv=list(self.argv),
            status=self.status,
            stderr=self.complaint,
        )


def run(argv: Sequence[str], environ: Mapping[str, str], given: str = "") -> ProgramResult:
    """Run it to its end, with a text on its standard input."""
    try:
        done = subprocess.run(
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
    output, complaint = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return ProgramResult(tuple(argv), done.returncode, output, complaint)
