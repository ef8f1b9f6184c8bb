"""Cache of blob sizes. A blob never changes, so git is asked once for each."""

from contextlib import suppress
from pathlib import Path

from prong.code.git import Git
from prong.files.regular import read_regular

_HEADER = 12
_MODE = 24
_SIZE = 36
"""Offset of the file size in an index entry; the id of the blob follows it."""
SIZE = 4
"""Bytes of a size. Higher bits of very large sizes are dropped."""
_EXTENDED = 0x4000
_UNCHECKED = 0x4000
"""In the second word of flags: a file that may be missing (skip-worktree)."""
_STAGE = 0x3000
_LENGTH = 0x0FFF


def sizes(data: bytes, width: int) -> set[bytes] | None:
    """Return slices of the index, size and blob of each regular file; None for a split index."""
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:_HEADER])
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        return None
    entries: set[bytes] = set()
    length = _SIZE + SIZE + width
    position = _HEADER
    for _ in range(count):
        flags = data[position + length] << 8 | data[position + length + 1]
        name = position + length + 2
        checked = True
        if flags & _EXTENDED:
            checked = not (data[name] << 8 | data[name + 1]) & _UNCHECKED
            name += 2
        if data[position + _MODE + 2] >> 4 == 8 and not flags & _STAGE and checked:
            entries.add(data[position + _SIZE : position + length])
        name_length = flags & _LENGTH
        if version == 4 or name_length == _LENGTH:
            end = data.index(0, _name_begin(data, name) if version == 4 else name)
        else:
            end = name + name_length
        # At least one zero ends the name; before version 4 it pads to eight bytes.
        position = end + 1 if version == 4 else position + ((end - position + 8) & ~7)
    return None if _is_split(data, position, width) else entries


def _name_begin(data: bytes, at: int) -> int:
    """Skip the number that says how much of the previous name is reused."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def _is_split(data: bytes, at: int, width: int) -> bool:
    """Tell whether most of the index is in another file."""
    while at < len(data) - width:
        if data[at : at + 4] == b"link":
            return True
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    return False


class Sizes:
    """A cache of index slices (size, blob) beside the index. If lost, it costs only time."""

    def __init__(self, path: Path, git: Git, width: int) -> None:
        self._path = path
        self._git = git
        self._known: set[bytes] = set()
        with suppress(OSError):
            data, step = read_regular(path), SIZE + width
            self._known = {data[start : start + step] for start in range(0, len(data), step)}

    def differing(self, files: set[bytes], temporary: Path) -> dict[bytes, int] | None:
        """Return the sizes of blobs whose files have another size, by id; None if out of time."""
        if not files - self._known:
            return {}
        blobs = {file[SIZE:] for file in files}
        missing = blobs - {entry[SIZE:] for entry in self._known}
        if missing:
            complete = self._ask(missing)
            self._known = {entry for entry in self._known if entry[SIZE:] in blobs}
            with suppress(OSError):
                temporary.write_bytes(b"".join(self._known))
                temporary.replace(self._path)
            if not complete:
                return None
        others = {file[SIZE:] for file in files - self._known}
        return {
            entry[SIZE:].hex().encode(): int.from_bytes(entry[:SIZE])
            for entry in self._known
            if entry[SIZE:] in others
        }

    def _ask(self, blobs: set[bytes]) -> bool:
        """Query sizes; False if there was no time for all. The results until then are valid."""
        stdin = "".join(f"{blob.hex()}\n" for blob in sorted(blobs))
        form = "--batch-check=%(objectname) %(objectsize)"
        answer = self._git.ask("cat-file", form, "--buffer", stdin=stdin.encode())
        if not answer.ok and not self._git.deadline.over:
            answer.expect()
        # If git was stopped, the last line is incomplete.
        for line in answer.output.split(b"\n")[:-1]:
            blob, _, size = line.partition(b" ")
            if size.isdigit():
                self._known.add(packed(int(size)) + bytes.fromhex(blob.decode()))
        return answer.ok


def packed(size: int) -> bytes:
    return (size % (1 << 8 * SIZE)).to_bytes(SIZE)
