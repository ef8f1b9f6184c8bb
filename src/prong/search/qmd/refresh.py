"""qmd index updates: runs `qmd update` and `qmd embed` after an export."""

import os
import re
import shlex
import shutil
import time
from pathlib import Path

from prong.errors import External, ProngError, Unavailable
from prong.model.search import Attempt
from prong.search.qmd.bounded import Ended, run
from prong.search.qmd.output import complaint_in
from prong.search.qmd.setup import (
    INSTALL,
    collection_folder,
    has_models,
    models_folder,
    unknown_collection,
)

_SECONDS = {"collection": 20.0, "update": 1800.0, "embed": 7200.0}
"""Timeouts. A first run may take long, but a hanging one must not block scheduled runs."""


def refresh_qmd(folder: Path, collection: str) -> list[Attempt]:
    """Update qmd and return the attempts. Raises when qmd or the collection is missing.

    `qmd embed` is skipped without a model file, because it would wait for a download.
    """
    program = shutil.which("qmd")
    if program is None:
        raise Unavailable("the sessions are exported, but qmd is not on PATH", hint=INSTALL)
    if not _has_collection(program, collection):
        raise _no_collection(folder, collection)
    attempts = [_run("update", (program, "update"), folder, collection)]
    command = (program, "embed", "-c", collection)
    if has_models(os.environ):
        attempts.append(_run("embed", command, folder, collection))
    else:
        reason = f"no model (*.gguf) in {models_folder(os.environ)}; qmd pull downloads them"
        attempts.append(Attempt("qmd", "embed", command, error=reason, skipped=True))
    return attempts


def _has_collection(program: str, collection: str) -> bool:
    """Check for a collection in qmd's configuration, or ask qmd if that is unreadable."""
    if collection_folder(os.environ, collection) is not None:
        return True
    result = _ended("collection", (program, "collection", "list"))
    names = re.findall(r"[^\s():/]+", result.output.decode("utf-8", "replace"))
    # If qmd fails here, the next command will fail and say why.
    return result.status != 0 or collection in names


def _ended(mode: str, command: tuple[str, ...]) -> Ended:
    env = {**os.environ, "NO_COLOR": "1", "PWD": "/"}
    return run(command, env=env, cwd="/", seconds=_SECONDS[mode])


def _run(mode: str, command: tuple[str, ...], folder: Path, collection: str) -> Attempt:
    started = time.monotonic()
    result = _ended(mode, command)
    seconds = time.monotonic() - started
    if result.status == 0:
        return Attempt("qmd", mode, command, seconds=seconds)
    complaint = complaint_in(result.complaints)
    if unknown_collection(complaint):
        raise _no_collection(folder, collection)
    reason = result.stopped or f"ended with status {result.status}"
    raise External(
        f"the sessions are exported, but qmd {mode} {reason}{': ' if complaint else ''}{complaint}",
        argv=list(command),
        status=result.status,
        stderr=complaint,
    )


def _no_collection(folder: Path, collection: str) -> ProngError:
    where, name = shlex.quote(str(folder)), shlex.quote(collection)
    return Unavailable(
        f"the sessions are exported, but qmd has no collection {collection}",
        hint=f'qmd collection add {where} --name {name} --mask "**/*.md"',
    )
