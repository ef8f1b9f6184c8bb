"""How large blobs are. They never change, so git is asked once for each."""

from contextlib import suppress
from pathlib import Path

from prong.vcs.git import Git


class Sizes:
    """Blob -> size. A cache beside the index of a working tree; lost, it costs time only."""

    def __init__(self, path: Path, git: Git) -> None:
        self._path = path
        self._git = git
        self._known: dict[bytes, int] = {}
        with suppress(OSError, ValueError):
            words = path.read_bytes().split()
            self._known = dict(zip(words[::2], map(int, words[1::2]), strict=True))

    def of(self, blobs: set[bytes], temporary: Path) -> dict[bytes, int] | None:
        """None when git had no time to answer. A blob that git does not have is left out."""
        missing = sorted(blobs - self._known.keys())
        if not missing:
            return self._known
        asked = b"".join(blob + b"\n" for blob in missing)
        form = "--batch-check=%(objectname) %(objectsize)"
        answer = self._git.ask("cat-file", form, "--buffer", stdin=asked)
        if not answer.ok and self._git.deadline.over:
            return None
        for line in answer.expect().split(b"\n"):
            blob, _, size = line.partition(b" ")
            if size.isdigit():
                self._known[blob] = int(size)
        kept = {blob: size for blob, size in self._known.items() if blob in blobs}
        with suppress(OSError):
            temporary.write_bytes(b"".join(b"%s %d\n" % pair for pair in kept.items()))
            temporary.replace(self._path)
        return kept
