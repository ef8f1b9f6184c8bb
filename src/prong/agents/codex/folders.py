"""Where Codex keeps things."""

import os
from pathlib import Path


def default_root() -> Path:
    configured = os.environ.get("CODEX_HOME")
    return Path(configured) if configured else Path.home() / ".codex"
