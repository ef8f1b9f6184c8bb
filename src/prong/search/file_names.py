"""Names that files are asked for by: `limit.py`, `src/limit.py`, `src/api/`."""

from collections.abc import Iterable


class FileName:
    """Fits a file that ends in it, and every file below a folder that does."""

    def __init__(self, text: str) -> None:
        parts = (part for part in _plain(text).split("/") if part not in ("", "."))
        self._inside = f"/{'/'.join(parts)}/"

    def fits(self, files: Iterable[str]) -> bool:
        """True when it fits one of these paths."""
        return any(self._inside in f"/{_plain(file)}/" for file in files)


def _plain(path: str) -> str:
    """In one case, and parted by `/`: sessions may come from a Windows."""
    return path.lower().replace("\\", "/")
