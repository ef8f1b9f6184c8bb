"""The versions of each agent that the end-to-end tests passed with, oldest first.

The last one is pinned in `tests/agents/package.json`, and is the version that samples and
converted sessions name. `prong doctor` shows all; `tests/docs/test_versions.py` checks the docs.
"""

CLAUDE = ("2.1.325", "2.1.326")
CODEX = ("0.166.0", "0.169.0")
