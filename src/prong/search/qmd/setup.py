"""What qmd needs: where it keeps its things, and what to type when something is missing."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Literal

from prong.files.regular import read_regular
from prong.model.search import Attempt
from prong.model.sessions import Session
from prong.search.chain import FILTERS

EXPORTS = "~/claude-sessions-md"
INSTALL = "npm install --global @tobilu/qmd@2.8.3"
_UNKNOWN_COLLECTION = re.compile(r"collection\b.*\b(?:not found|does not exist)", re.IGNORECASE)

START = "start"
"""The mode of an attempt that did not get as far as a search."""

Missing = Literal["program", "collection"]


def has_models(env: Mapping[str, str]) -> bool:
    """True when a model file is there: without one, qmd waits for a download that may never end."""
    named = (env.get(f"QMD_{use}_MODEL", "") for use in ("EMBED", "GENERATE"))
    if any(name.endswith(".gguf") and Path(name).is_file() for name in named):
        return True
    return any(models_folder(env).glob("*.gguf"))


def models_folder(env: Mapping[str, str]) -> Path:
    return _folder(env, "XDG_CACHE_HOME", ".cache") / "qmd/models"


def collection_folder(env: Mapping[str, str], collection: str) -> Path | None:
    """The folder that a collection was made from, as qmd's own configuration says.

    Of that file only what qmd itself writes is understood; None for everything else.
    """
    folder = Path(env.get("QMD_CONFIG_DIR") or _folder(env, "XDG_CONFIG_HOME", ".config") / "qmd")
    try:
        lines = read_regular(folder / "index.yml").decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    place: list[str] = []
    for line in lines:
        found = re.fullmatch(r"( *)(\"[^\"]*\"|'[^']*'|[^\s#][^:]*):(?: +(.*))?", line)
        if found:
            depth = len(found[1]) // 2
            place[depth:] = [_scalar(found[2])]
            if place == ["collections", collection, "path"] and found[3]:
                path = Path(_scalar(found[3])).expanduser()
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


def missing(attempts: Sequence[Attempt]) -> Missing | None:
    """What qmd lacks, to judge by what was tried last: itself, or the collection."""
    last = _last(attempts)
    error = last.error if last else None
    if error is None:
        return None
    return "collection" if unknown_collection(error) else "program"


def _last(attempts: Sequence[Attempt]) -> Attempt | None:
    """What was tried last of qmd itself: that nothing of its hits is wanted is not its fault."""
    qmd = (one for one in reversed(attempts) if one.engine == "qmd")
    return next((one for one in qmd if not one.skipped and one.mode != FILTERS), None)


def guidance(
    attempts: Sequence[Attempt],
    collection: str,
    sessions: Iterable[Session],
    *,
    folder: str = EXPORTS,
) -> dict[str, object] | None:
    """What to do about a qmd that is not there, and sessions to choose from by hand meanwhile.

    None when qmd can search: then there is just nothing that it found.
    """
    lack = missing(attempts)
    if lack is None:
        return None
    if lack == "collection":
        why = f"qmd has no collection {collection}"
    else:
        last = _last(attempts)
        assert last is not None
        why = last.error if last.mode == START else f"qmd failed: {last.error}"
    home = "~/" if folder.startswith("~/") else ""  # which no shell knows between quotes
    quoted = home + shlex.quote(folder.removeprefix(home))
    name = shlex.quote(collection)
    steps = [
        f"prong export {quoted}",
        f'qmd collection add {quoted} --name {name} --mask "**/*.md"',
        f"qmd embed -c {name}",
    ]
    if lack == "program":
        steps.insert(0, f"{INSTALL}    # needs Node 22 or newer")
    return {
        "error": "qmd_not_available",
        "message": f"{why}; prong's own index is always there (--engine builtin)",
        "next_steps": steps,
        "fallback_sessions": [
            {
                "session_id": session.id,
                "agent": session.agent,
                "project_path": session.cwd,
                "last_modified": _time(session),
            }
            for session in sessions
        ],
    }


def _time(session: Session) -> str | None:
    if session.updated is None:
        return None
    time = session.updated.astimezone(UTC).isoformat(timespec="milliseconds")
    return time.replace("+00:00", "Z")
