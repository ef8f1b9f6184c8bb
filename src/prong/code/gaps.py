"""Gaps in the captured code of a turn, and their reasons."""

import os
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from prong.code import lfs
from prong.code.git import Git
from prong.code.snapshots import refs
from prong.code.worktrees.record import common_of
from prong.errors import ProngError
from prong.log import debug
from prong.model.amounts import counted, size_text
from prong.model.code import Snapshot
from prong.model.sessions import CodeGap, GapKind, Turn
from prong.storage.snapshots import CaptureFailure

_NO_CONTENT = "LFS pointer, its content was not downloaded (git lfs pull)"
_NAMED = 5
"""Maximum number of files named in a message."""
_MOST_POINTERS = 100
"""Maximum number of LFS files listed per snapshot."""


def of_turn(
    snapshot: Snapshot | None, failure: CaptureFailure | None, outside: Iterable[str] = ()
) -> tuple[CodeGap, ...]:
    """Collect the gaps of a turn. A snapshot taken after a failure supersedes it."""
    gaps: list[CodeGap] = []
    if failure is not None and (snapshot is None or snapshot.taken < failure.time):
        gaps.append(CodeGap(GapKind.FAILED, failure.reason))
    if snapshot is not None:
        gaps += of_snapshot(snapshot)
        gaps += [CodeGap(GapKind.OUTSIDE, "outside the repository", path) for path in outside]
    return tuple(gaps)


def of_snapshot(snapshot: Snapshot) -> list[CodeGap]:
    partial = [CodeGap(GapKind.PARTIAL, snapshot.degraded)] if snapshot.degraded else []
    files = snapshot.left_out
    return partial + [CodeGap(GapKind.LEFT_OUT, one.reason, one.path, one.size) for one in files]


def of_lfs(snapshots: Iterable[Snapshot]) -> dict[str, tuple[CodeGap, ...]]:
    """List LFS files without content on this machine, by commit, as far as git can tell."""
    by_repository: dict[Path, list[Snapshot]] = {}
    for snapshot in snapshots:
        common = common_of(snapshot.repo)
        if common is not None:
            by_repository.setdefault(common, []).append(snapshot)
    gaps: dict[str, tuple[CodeGap, ...]] = {}
    for common, of_common in by_repository.items():
        try:
            gaps |= _of_lfs_in(common, of_common)
        except ProngError as error:
            debug(__name__, "the LFS files of %s are unknown: %s", common, error)
    return gaps


def _of_lfs_in(common: Path, snapshots: Sequence[Snapshot]) -> dict[str, tuple[CodeGap, ...]]:
    git = Git(common)
    trees = [snapshot.tree for snapshot in snapshots]
    try:
        pointers = lfs.pointers(git, trees)
    except ProngError:
        # Some trees may have been deleted and garbage-collected: use the others.
        existing = refs.present(common, trees)
        pointers = lfs.pointers(git, existing) if existing else {}
    if not any(pointers.values()):
        return {}
    store = lfs.store_of(git, common)

    @cache
    def gap(top: Path, pointer: lfs.Pointer) -> CodeGap | None:
        file = top / pointer.path
        is_there = os.path.lexists(file) and file.lstat().st_size == pointer.size
        if is_there or lfs.stored(store, pointer):
            return None
        return CodeGap(GapKind.LEFT_OUT, _NO_CONTENT, pointer.path, pointer.size)

    gaps: dict[str, tuple[CodeGap, ...]] = {}
    for snapshot in snapshots:
        candidates = [gap(snapshot.repo, pointer) for pointer in pointers.get(snapshot.tree, ())]
        missing = [candidate for candidate in candidates if candidate is not None]
        hidden = len(missing) - _MOST_POINTERS
        if hidden > 0:  # a clone without LFS has thousands of pointers, in each turn
            rest = f"{counted(hidden, 'more LFS pointer')} without content"
            missing[_MOST_POINTERS:] = [CodeGap(GapKind.LEFT_OUT, rest)]
        if missing:
            gaps[snapshot.commit] = tuple(missing)
    return gaps


def outside(turn: Turn, cwd: str | None, folders: Collection[Path]) -> list[str]:
    """List the files that a turn changed outside these folders."""
    base = turn.cwd or cwd or ""
    prefixes = [f"{folder}{os.sep}" for folder in folders]
    suspects = [os.path.normpath(os.path.join(base, name)) for name in turn.files]  # noqa: PTH118
    suspects = [path for path in suspects if not path.startswith(tuple(prefixes))]
    if not suspects or not base:
        return []
    # Resolving links is slow; few files get here.
    real_prefixes = tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in folders)
    return [path for path in suspects if not os.path.realpath(path).startswith(real_prefixes)]


def summary(gaps: Sequence[CodeGap]) -> str | None:
    """Summarize gaps: `code incomplete: dump.sql (73.4 MB, over the limit of 50 MB)`."""
    failed = next((gap for gap in gaps if gap.kind is GapKind.FAILED), None)
    if failed is not None:
        return f"code not captured: {failed.reason}"
    return f"code incomplete: {'; '.join(_described(gaps))}" if gaps else None


def warnings(gaps: Sequence[CodeGap], code: str) -> list[str]:
    """Describe what is missing in `code`, such as `the snapshot`."""
    texts = [
        f"the code of the turn was not captured: {gap.reason}"
        if gap.kind is GapKind.FAILED
        else f"{code} is not complete: {gap.reason}"
        for gap in gaps
        if gap.kind is GapKind.FAILED or gap.path is None
    ]
    files = [gap for gap in gaps if gap.path is not None]
    return texts + [f"not in {code}: {text}" for text in _described(files)]


def _described(gaps: Iterable[CodeGap]) -> list[str]:
    """Return one text per reason, with the names and sizes of the first files."""
    by_reason: dict[str, list[CodeGap]] = {}
    for gap in gaps:
        by_reason.setdefault(gap.reason, []).append(gap)
    texts: list[str] = []
    for reason, group in by_reason.items():
        files = [gap for gap in group if gap.path is not None]
        if not files:
            texts.append(reason)
            continue
        names = ", ".join(
            f"{gap.path} ({size_text(gap.size)})" if gap.size else str(gap.path)
            for gap in files[:_NAMED]
        )
        hidden = len(files) - _NAMED
        names += f" and {counted(hidden, 'more file')}" if hidden > 0 else ""
        texts.append(f"{names}: {reason}")
    return texts
