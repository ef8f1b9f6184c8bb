"""Messy Codex threads, each made by the real program, by name.

A builder takes a `CodexLab` and returns the id of the thread it is about. `build(name, folder)`
runs one and probes it.
"""

from tests.e2e.labs import codex_history, codex_turns
from tests.e2e.labs.codex_lab import BUILDERS, CodexLab, build

# Importing these is what fills BUILDERS.
FAMILIES = (codex_turns, codex_history)

__all__ = ["BUILDERS", "FAMILIES", "CodexLab", "build"]
