"""The files that define git attributes, and a text search for an attribute in them."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prong.code.repository import Repository
from prong.files.regular import read_regular

_FILE = b".gitattributes"


def sources(
    repository: Repository, listing: bytes, settings: Mapping[bytes, bytes]
) -> Iterator[Path]:
    """List the files that can define attributes. Tracked or configured ones may not exist.

    `listing`: the tracked and untracked files, as git lists them.
    """
    end = _FILE + b"\0"
    position = listing.find(end)
    while position >= 0:
        record = listing[listing.rfind(b"\0", 0, position) + 1 : position + len(_FILE)]
        path = record[2:] if record[:1] == b"?" else record.partition(b"\t")[2]
        yield repository.top / os.fsdecode(path)
        position = listing.find(end, position + 1)
    configured = settings.get(b"core.attributesfile")
    if configured is not None:
        yield Path(os.path.expanduser(os.fsdecode(configured)))  # noqa: PTH111 -- fails on `~nobody`
    config_home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
    candidates = (
        repository.top / os.fsdecode(_FILE),  # which may itself be ignored
        repository.common_dir / "info" / "attributes",
        Path(config_home) / "git" / "attributes",
        Path("/etc/gitattributes"),
    )
    yield from (candidate for candidate in candidates if candidate.exists())


def may_have(files: Iterable[Path], names: Iterable[bytes]) -> bool:
    """Return False if none of the files mentions any of these attributes."""
    for file in files:
        try:
            text = read_regular(file)
        except OSError:
            return True  # git may read it from the index
        if any(name in text for name in names):
            return True
    return False
