"""Messy Claude Code sessions, each made by the real program, by name.

A builder takes a `ClaudeLab` and returns the id of the session it is about. `build(name, folder)`
runs one and probes it.
"""

from tests.e2e.labs import claude_history, claude_input, claude_tools, claude_turns
from tests.e2e.labs.claude_lab import BUILDERS, ClaudeLab, build, probe_interactively

# Importing these is what fills BUILDERS.
FAMILIES = (claude_turns, claude_tools, claude_history, claude_input)

__all__ = ["BUILDERS", "FAMILIES", "ClaudeLab", "build", "probe_interactively"]
