"""Where the attributes of files are said. What is said there, git knows; here are but names."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prong.code.repository import Repository
from prong.files.regular import read_regular

_FILE = b".gitattributes"


def sources(
    repository: Repository, listing: bytes, settings: Mapping[bytes, bytes]
) -> Iterator[Path]:
    """The files that say them. `listing`: the tracked and the new files, as git lists them.

    Of those that are tracked or in the settings, some may be missing.
    """
    end = _FILE + b"\0"
    at = listing.find(end)
    while at >= 0:
        record = listing[listing.rfind(b"\0", 0, at) + 1 : at + len(_FILE)]
        path = record[2:] if record[:1] == b"?" else record.partition(b"\t")[2]
        yield repository.top / os.fsdecode(path)
        at = listing.find(end, at + 1)
    named = settings.get(b"core.attributesfile")
    if named is not None:
        yield Path(os.path.expanduser(os.fsdecode(named)))  # noqa: PTH111 -- fails on `~nobody`
    settled = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
    places = (
        repository.top / os.fsdecode(_FILE),  # which may be ignored itself
        repository.common_dir / "info" / "attributes",
        Path(settled) / "git" / "attributes",
        Path("/etc/gitattributes"),
    )
    yield from (place for place in places if place.exists())


def may_have(files: Iterable[Path], names: Iterable[bytes]) -> bool:
    """False when none of the files has a word about any of these attributes."""
    for file in files:
        try:
            text = read_regular(file)
        except OSError:
            return True  # git may know it from the index
        if any(name in text for name in names):
            return True
    return False
