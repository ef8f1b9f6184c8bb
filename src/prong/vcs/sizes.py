"""How large blobs are. They never change, so git is asked once for each."""

from contextlib import suppress
from pathlib import Path

from prong.regular import read_regular
from prong.vcs.git import Git
from prong.vcs.index import SIZE


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
