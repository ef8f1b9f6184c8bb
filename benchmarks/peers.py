"""What prong is measured against: decode every line, and do nothing with it.

No reader of these files can know less than this and still read all of them.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard


def session_files(root: Path) -> Iterator[Path]:
    """Every session file of a generated store, sub-agents and compressed ones included."""
    yield from sorted((root / "claude" / "projects").rglob("*.jsonl"))
    for folder in ("sessions", "archived_sessions"):
        yield from sorted((root / "codex" / folder).rglob("rollout-*.jsonl*"))


def decode_file(path: Path) -> int:
    """Decode each line of one file; the number of lines."""
    decode = msgspec.json.decode
    count = 0
    with path.open("rb") as raw:
        lines: io.IOBase = raw
        if path.suffix == ".zst":
            lines = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(raw).read())
        for line in lines:
            decode(line)
            count += 1
    return count


def decode_store(root: Path) -> int:
    """Decode each line of every session file of a store; the number of lines."""
    return sum(decode_file(path) for path in session_files(root))


def copy_replaced(path: Path, target: Path) -> int:
    """What a fork costs that understands nothing: the bytes, with another id in them.

    Of the file and of what lies in the folder beside it: a fork copies that as well.
    """
    old, new = path.stem.encode(), b"0" * len(path.stem)
    written = target.write_bytes(path.read_bytes().replace(old, new))
    beside = path.with_suffix("")
    for file in beside.rglob("*"):
        copy = target.with_suffix("") / file.relative_to(beside)
        if file.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            written += copy.write_bytes(file.read_bytes().replace(old, new))
    return written
