"""Hooks of Codex for one run, as settings on its command line.

    -c 'hooks.Stop=[{hooks=[{type="command",command="...",timeout=10}]}]'
    -c 'hooks.state={"/<session-flags>/config.toml:stop:0:0"={trusted_hash="sha256:..."}}'

Measured: Codex runs them in addition to hooks in files, and trusts them by hashes that are also
given on the command line. Only Codex can compute a hash, so hashes are cached for as long as the
program and the hooks stay the same.
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
"""Codex's name for the location of settings on the command line."""


def settings(
    command: Sequence[str],
    events: Sequence[str],
    timeouts: Mapping[str, int],
    program: Sequence[str],
    folder: Path,
    hashes: Callable[[bytes], dict[str, str]],
) -> list[str]:
    """Return the settings; none if Codex does not support such hooks."""
    if not events:
        return []
    line = file.command_line(command)
    content = file.with_hooks(Path("hooks.json"), None, dict.fromkeys(events, line), timeouts)
    trusted = _known(folder, program, content, hashes)
    if not trusted:
        return []
    hook_settings: list[str] = []
    for event in events:
        seconds = timeouts.get(event, file.TIMEOUT)
        hook = f'{{type="command",command={_quoted(line)},timeout={seconds}}}'
        hook_settings.append(f"hooks.{event}=[{{hooks=[{hook}]}}]")
    states = (
        f"{_quoted(f'{_PLACE}:{place}')}={{trusted_hash={_quoted(hash_)}}}"
        for place, hash_ in trusted.items()
    )
    return [*hook_settings, f"hooks.state={{{','.join(states)}}}"]


def _quoted(text: str) -> str:
    """Quote a string for TOML."""
    return json.dumps(text, ensure_ascii=False)


def _known(
    folder: Path, program: Sequence[str], content: bytes, hashes: Callable[[bytes], dict[str, str]]
) -> dict[str, str]:
    path = folder / f"codex-{_key(program, content)}.json"
    with suppress(OSError, ValueError):
        cached: Any = json.loads(read_regular(path))
        if isinstance(cached, dict):
            return cast(dict[str, str], cached)
    try:
        computed = hashes(content)
    except ProngError:
        return {}  # too old or missing: starting it will report that
    write_private(path, json.dumps(computed).encode())
    return computed


def _key(program: Sequence[str], content: bytes) -> str:
    """Derive a cache key from everything that the hashes depend on."""
    program_path = shutil.which(program[0])
    version = ""
    with suppress(OSError):
        real = os.path.realpath(program_path or program[0])
        stat = Path(real).stat()
        version = f"{real}:{stat.st_size}:{stat.st_mtime_ns}"
    return sha256(f"{list(program)}:{version}:".encode() + content).hexdigest()[:12]
