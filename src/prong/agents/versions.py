"""The versions of each agent that the end-to-end tests passed with, oldest first.

The last one is what `tests/agents/package.json` pins, and what samples and converted sessions say
they were written by. `prong doctor` shows all of them. `tests/docs/test_versions.py` holds the
documentation to this file.
"""

CLAUDE = ("2.1.325", "2.1.326")
CODEX = ("0.166.0", "0.169.0")
