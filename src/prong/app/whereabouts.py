"""Where snapshots lie now: worktrees are removed, repositories are moved, refs are deleted."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prong.errors import ProngError
from prong.log import debug
from prong.model import Fork, Session, Snapshot
from prong.vcs import listing
from prong.vcs.repository import Repository


def located(
    found: Mapping[str, Snapshot], elsewhere: Callable[[], Iterable[Path]] = tuple
) -> dict[str, Snapshot]:
    """Each with a folder that has it; without those that somebody deleted from there.

    A folder that is gone leaves its snapshots to the repository it was of. That is looked for where
    the others are, and `elsewhere`. What nobody has stays as it is: its disk may come back.
    """
    commits = {one.commit for one in found.values()}
    folders = {one.repo for one in found.values()}
    has = {folder: _present(folder, commits) for folder in folders if folder.is_dir()}
    homeless = {one.commit for one in found.values() if one.repo not in has}
    for folder in elsewhere() if homeless else ():
        top = _top(folder)
        if top is not None and top not in has:
            has[top] = _present(top, homeless)
    result: dict[str, Snapshot] = {}
    for id_, one in found.items():
        if one.repo in folders & has.keys():
            if one.commit in has[one.repo]:
                result[id_] = one
            continue
        place = next((folder for folder, there in has.items() if one.commit in there), None)
        result[id_] = one if place is None else one._replace(repo=place)
    return result


def places(session: Session, forks: Iterable[Fork]) -> Iterator[Path]:
    """Where the repository of a session may be.

    Where it ran, where those ran that it was forked from, and where the person is now.
    """
    made = {fork.child: fork for fork in forks}
    folders = [session.cwd]
    ref = session.ref
    while (fork := made.pop(ref, None)) is not None:
        folders.append(fork.parent_workspace)
        ref = fork.parent.session
    yield from (Path(folder) for folder in folders if folder and Path(folder).is_dir())
    yield Path.cwd()


def _top(folder: Path) -> Path | None:
    try:
        repository = Repository.find(folder)
    except ProngError:
        return None
    return repository.top if repository else None


def _present(folder: Path, commits: set[str]) -> set[str]:
    try:
        return listing.present(folder, commits)
    except ProngError as error:
        debug(__name__, "nobody knows what %s has: %s", folder, error)
        return commits  # git may open it again another day
