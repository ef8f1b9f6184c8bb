"""qmd setup: its folders, and instructions when something is missing."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from prong.files.regular import read_regular
from prong.model.search import Attempt
from prong.model.sessions import Session

EXPORTS = "~/claude-sessions-md"
INSTALL = "npm install --global @tobilu/qmd@2.8.3"
_UNKNOWN_COLLECTION = re.compile(r"collection\b.*\b(?:not found|does not exist)", re.IGNORECASE)

FILTERS = "filters"
"""Mode of an attempt whose hits were all removed by filters."""
START = "start"
"""Mode of an attempt that failed before the search."""


def has_models(env: Mapping[str, str]) -> bool:
    """Return True if a model file exists; without one, qmd waits for a download."""
    named = (env.get(f"QMD_{use}_MODEL", "") for use in ("EMBED", "GENERATE"))
    if any(name.endswith(".gguf") and Path(name).is_file() for name in named):
        return True
    return any(models_folder(env).glob("*.gguf"))


def models_folder(env: Mapping[str, str]) -> Path:
    return _folder(env, "XDG_CACHE_HOME", ".cache") / "qmd/models"


def collection_folder(env: Mapping[str, str], collection: str) -> Path | None:
    """Look up a collection in qmd's configuration; None unless it is as qmd writes it."""
    folder = Path(env.get("QMD_CONFIG_DIR") or _folder(env, "XDG_CONFIG_HOME", ".config") / "qmd")
    try:
        lines = read_regular(folder / "index.yml").decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    keys: list[str] = []
    for line in lines:
        entry = re.fullmatch(r"( *)(\"[^\"]*\"|'[^']*'|[^\s#][^:]*):(?: +(.*))?", line)
        if entry:
            depth = len(entry[1]) // 2
            keys[depth:] = [_scalar(entry[2])]
            if keys == ["collections", collection, "path"] and entry[3]:
                path = Path(_scalar(entry[3])).expanduser()
                return path if path.is_absolute() else None
    return None


def _scalar(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return ""
    if text.startswith("'"):
        return text[1:].removesuffix("'").replace("''", "'")
    return text


def _folder(env: Mapping[str, str], variable: str, name: str) -> Path:
    return Path(env.get(variable) or Path(env.get("HOME") or Path.home()) / name)


def unknown_collection(error: str) -> bool:
    return _UNKNOWN_COLLECTION.search(error) is not None


def guidance(
    attempts: Sequence[Attempt],
    collection: str,
    sessions: Iterable[Session],
    *,
    folder: str = EXPORTS,
) -> dict[str, object] | None:
    """Build setup instructions for qmd, and sessions to choose from; None when qmd works."""
    qmd = (entry for entry in reversed(attempts) if entry.engine == "qmd")
    last = next((entry for entry in qmd if not entry.skipped and entry.mode != FILTERS), None)
    if last is None or last.error is None:
        return None
    needs_program = not unknown_collection(last.error)
    if not needs_program:
        reason = f"qmd has no collection {collection}"
    else:
        reason = last.error if last.mode == START else f"qmd failed: {last.error}"
    home = "~/" if folder.startswith("~/") else ""  # no shell expands it inside quotes
    quoted = home + shlex.quote(folder.removeprefix(home))
    name = shlex.quote(collection)
    steps = [
        f"prong export {quoted}",
        f'qmd collection add {quoted} --name {name} --mask "**/*.md"',
        f"qmd embed -c {name}",
    ]
    if needs_program:
        steps.insert(0, f"{INSTALL}    # needs Node 22 or newer")
    return {
        "error": "qmd_not_available",
        "message": f"{reason}; prong's own index is always there (--engine builtin)",
        "next_steps": steps,
        "fallback_sessions": [
            {
                "session_id": session.id,
                "agent": session.agent,
                "project_path": session.cwd,
                "last_modified": session.updated and _time(session.updated),
            }
            for session in sessions
        ],
    }


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
