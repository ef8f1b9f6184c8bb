"""Hooks of Codex for one run, as settings on its command line.

    -c 'hooks.Stop=[{hooks=[{type="command",command="...",timeout=10}]}]'
    -c 'hooks.state={"/<session-flags>/config.toml:stop:0:0"={trusted_hash="sha256:..."}}'

Measured: Codex keeps them apart from those in files, which run as well, and trusts them
by hashes that stand on the command line, too. Only Codex computes a hash; so what it said is kept,
for as long as it is the same program and the same hooks.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from prong.agents.settings import file
from prong.errors import ProngError
from prong.files.edits import write_private
from prong.files.regular import read_regular

_PLACE = "/<session-flags>/config.toml"
"""How Codex names what its command line says."""


def settings(
    command: Sequence[str],
    events: Sequence[str],
    timeouts: Mapping[str, int],
    program: Sequence[str],
    folder: Path,
    hashes: Callable[[bytes], dict[str, str]],
) -> list[str]:
    """The settings; none when Codex does not know such hooks."""
    if not events:
        return []
    line = file.command_line(command)
    content = file.with_hooks(Path("hooks.json"), None, dict.fromkeys(events, line), timeouts)
    trusted = _known(folder, program, content, hashes)
    if not trusted:
        return []
    told: list[str] = []
    for event in events:
        seconds = timeouts.get(event, file.TIMEOUT)
        hook = f'{{type="command",command={_quoted(line)},timeout={seconds}}}'
        told.append(f"hooks.{event}=[{{hooks=[{hook}]}}]")
    states = (
        f"{_quoted(f'{_PLACE}:{place}')}={{trusted_hash={_quoted(hash_)}}}"
        for place, hash_ in trusted.items()
    )
    return [*told, f"hooks.state={{{','.join(states)}}}"]


def _quoted(text: str) -> str:
    """A string of TOML."""
    return json.dumps(text, ensure_ascii=False)


def _known(
    folder: Path, program: Sequence[str], content: bytes, hashes: Callable[[bytes], dict[str, str]]
) -> dict[str, str]:
    path = folder / f"codex-{_key(program, content)}.json"
    with suppress(OSError, ValueError):
        kept: Any = json.loads(read_regular(path))
        if isinstance(kept, dict):
            return cast(dict[str, str], kept)
    try:
        found = hashes(content)
    except ProngError:
        return {}  # it may be too old, or not there: then the start of it will say so
    write_private(path, json.dumps(found).encode())
    return found


def _key(program: Sequence[str], content: bytes) -> str:
    """Names what the hashes depend on."""
    found = shutil.which(program[0])
    about = ""
    with suppress(OSError):
        real = os.path.realpath(found or program[0])
        stat = Path(real).stat()
        about = f"{real}:{stat.st_size}:{stat.st_mtime_ns}"
    return sha256(f"{list(program)}:{about}:".encode() + content).hexdigest()[:12]
