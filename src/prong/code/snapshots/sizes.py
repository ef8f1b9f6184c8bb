"""How large blobs are. They never change, so git is asked once for each."""

from contextlib import suppress
from pathlib import Path

from prong.code.git import Git
from prong.files.regular import read_regular

_HEADER = 12
_MODE = 24
_SIZE = 36
"""The size of the file stands here in an entry, and the id of its blob right behind it."""
SIZE = 4
"""So many bytes are a size. The rest of a very large one is not kept."""
_EXTENDED = 0x4000
_UNCHECKED = 0x4000
"""In the second word of flags: a file that need not be there (skip-worktree)."""
_STAGE = 0x3000
_LENGTH = 0x0FFF


def sizes(data: bytes, width: int) -> set[bytes] | None:
    """Size and blob of the regular files; None where the index is not all in this file.

    `width`: how long an id is, in bytes. What is returned are pieces of the index, size first.
    """
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:_HEADER])
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        return None
    found: set[bytes] = set()
    behind = _SIZE + SIZE + width
    at = _HEADER
    for _ in range(count):
        flags = data[at + behind] << 8 | data[at + behind + 1]
        name = at + behind + 2
        checked = True
        if flags & _EXTENDED:
            checked = not (data[name] << 8 | data[name + 1]) & _UNCHECKED
            name += 2
        if data[at + _MODE + 2] >> 4 == 8 and not flags & _STAGE and checked:
            found.add(data[at + _SIZE : at + behind])
        length = flags & _LENGTH
        if version == 4 or length == _LENGTH:
            end = data.index(0, _name_begin(data, name) if version == 4 else name)
        else:
            end = name + length
        # At least one zero ends the name, and in the older versions fills up to eight bytes.
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)
    return None if _is_split(data, at, width) else found


def _name_begin(data: bytes, at: int) -> int:
    """Behind the number that says how much of the name before is taken over."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def _is_split(data: bytes, at: int, width: int) -> bool:
    """Whether most of the index is in another file."""
    while at < len(data) - width:
        if data[at : at + 4] == b"link":
            return True
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    return False


class Sizes:
    """A cache beside the index of a working tree; lost, it costs time only.

    A size and the blob that has it are kept as they stand in an index, in one piece.
    """

    def __init__(self, path: Path, git: Git, width: int) -> None:
        self._path = path
        self._git = git
        self._known: set[bytes] = set()
        with suppress(OSError):
            data, step = read_regular(path), SIZE + width
            self._known = {data[at : at + step] for at in range(0, len(data), step)}

    def differing(self, files: set[bytes], temporary: Path) -> dict[bytes, int] | None:
        """The sizes of blobs that a file has with another size, by their ids in hexadecimal.

        None when git had no time to answer. A blob that git does not have is left out.
        """
        if not files - self._known:
            return {}
        blobs = {file[SIZE:] for file in files}
        missing = blobs - {one[SIZE:] for one in self._known}
        if missing:
            complete = self._ask(missing)
            self._known = {one for one in self._known if one[SIZE:] in blobs}
            with suppress(OSError):
                temporary.write_bytes(b"".join(self._known))
                temporary.replace(self._path)
            if not complete:
                return None
        others = {file[SIZE:] for file in files - self._known}
        return {
            one[SIZE:].hex().encode(): int.from_bytes(one[:SIZE])
            for one in self._known
            if one[SIZE:] in others
        }

    def _ask(self, blobs: set[bytes]) -> bool:
        """False when there was no time for all of them. What git said until then is true."""
        asked = "".join(f"{blob.hex()}\n" for blob in sorted(blobs))
        form = "--batch-check=%(objectname) %(objectsize)"
        answer = self._git.ask("cat-file", form, "--buffer", stdin=asked.encode())
        if not answer.ok and not self._git.deadline.over:
            answer.expect()
        # Half a line is the last one, when git was stopped.
        for line in answer.output.split(b"\n")[:-1]:
            blob, _, size = line.partition(b" ")
            if size.isdigit():
                self._known.add(packed(int(size)) + bytes.fromhex(blob.decode()))
        return answer.ok


def packed(size: int) -> bytes:
    """As in an index."""
    return (size % (1 << 8 * SIZE)).to_bytes(SIZE)
