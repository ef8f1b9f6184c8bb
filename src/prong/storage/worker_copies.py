"""A copy of each recorded worker in a file of its own, from which a damaged state.db is completed.

Nothing else tells how a worker was started: a headless one has no program between two turns, and a
running program does not say which options prong gave it. The copies are written in the transaction
that changes the record, so they are as new as that. One that cannot be written is left out.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.files.journal import sync_file
from prong.log import debug
from prong.paths import private_dir
from prong.storage.values import as_bytes, as_text


def keep(folder: Path, row: Mapping[str, Any]) -> None:
    """Write the copy of a record, in place of an older one."""
    # A file name need not be valid text.
    fields = {key: as_text(one) if isinstance(one, bytes) else one for key, one in row.items()}
    kept = [key for key, one in row.items() if isinstance(one, bytes)]
    file = _file(folder, row["name"])
    try:
        private_dir(folder)
        new = file.with_name(f".{file.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        new.touch(0o600)
        new.write_text(json.dumps({"row": fields, "bytes": kept}))
        sync_file(new)
        new.replace(file)
    except OSError as error:
        debug(__name__, "no copy of the record of %s: %s", row["name"], error)


def remove(folder: Path, name: str) -> None:
    with suppress(OSError):
        _file(folder, name).unlink(missing_ok=True)


def rows(folder: Path) -> Iterator[Mapping[str, Any]]:
    """The copies that can be read."""
    for file in folder.glob("*.json"):
        try:
            copy: dict[str, Any] = json.loads(file.read_bytes())
            row = cast(dict[str, Any], copy["row"])
            yield {**row, **{key: as_bytes(row[key]) for key in copy["bytes"]}}
        except (OSError, ValueError, KeyError, TypeError) as error:
            debug(__name__, "the copy %s cannot be read: %s", file, error)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
