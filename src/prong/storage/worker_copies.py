"""Backup copies of worker records, one file each, to restore them after damage to state.db.

How a worker was started is known nowhere else: a headless one has no process between turns, and a
running process does not reveal the options prong gave it. Copies are written in the transaction
that changes the record, so they are always as new. Failure to write one is ignored.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.files import atomic
from prong.log import debug
from prong.storage.values import as_bytes, as_text


def keep(folder: Path, row: Mapping[str, Any]) -> None:
    """Write the copy of a record, replacing an older one."""
    # File names need not be valid text.
    texts = {key: as_text(item) if isinstance(item, bytes) else item for key, item in row.items()}
    encoded = [key for key, item in row.items() if isinstance(item, bytes)]
    file = _file(folder, row["name"])
    try:
        atomic.write_private(file, json.dumps({"row": texts, "bytes": encoded}).encode())
    except OSError as error:
        debug(__name__, "no copy of the record of %s: %s", row["name"], error)


def remove(folder: Path, name: str) -> None:
    with suppress(OSError):
        _file(folder, name).unlink(missing_ok=True)


def rows(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the readable copies."""
    for file in folder.glob("*.json"):
        try:
            copy: dict[str, Any] = json.loads(file.read_bytes())
            row = cast(dict[str, Any], copy["row"])
            yield {**row, **{key: as_bytes(row[key]) for key in copy["bytes"]}}
        except (OSError, ValueError, KeyError, TypeError) as error:
            debug(__name__, "the copy %s cannot be read: %s", file, error)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
