"""Whatever a user and an agent do, the snapshot is the working tree, and nothing is touched."""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from tests.code.lab import Lab

NAMES = ["a", "b.txt", "-c", "d/e", "d/f", "d/g/h", "ignored.log", "i\nj", "k\xff"]
DATA = [b"", b"one\n", b"two\n", b"one\r\ntwo\n", b"\0\1\2", b"one\ntwo\nthree\n"]


def write(lab: Lab, name: str, data: bytes) -> None:
    path = lab.top / name
    for parent in reversed(path.parents):
        if parent.is_relative_to(lab.top) and (parent.is_symlink() or parent.is_file()):
            parent.unlink()
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    lab.write(name, data)


def remove(lab: Lab, name: str, data: bytes) -> None:
    path = lab.top / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.parent.is_dir():
        path.unlink(missing_ok=True)


def link(lab: Lab, name: str, data: bytes) -> None:
    write(lab, name, data)
    (lab.top / name).unlink()
    (lab.top / name).symlink_to("b.txt" if data else "d")


def chmod(lab: Lab, name: str, data: bytes) -> None:
    write(lab, name, data)
    (lab.top / name).chmod(0o755)


def stage(lab: Lab, name: str, data: bytes) -> None:
    lab.git("add", "-A", "--", name, check=False)


def announce(lab: Lab, name: str, data: bytes) -> None:
    lab.git("add", "-N", "--", name, check=False)


def unstage(lab: Lab, name: str, data: bytes) -> None:
    lab.git("rm", "-q", "--cached", "-r", "--ignore-unmatch", "--", name)


def hide(lab: Lab, name: str, data: bytes) -> None:
    lab.git("update-index", "--assume-unchanged", "--", name, check=False)


def commit(lab: Lab, name: str, data: bytes) -> None:
    lab.git("commit", "-q", "-m", "a commit", check=False)


def convert(lab: Lab, name: str, data: bytes) -> None:
    lab.write(".gitattributes", "* text=auto eol=crlf\n" if data else "")


def snapshot(lab: Lab, name: str, data: bytes) -> None:
    check(lab)


def check(lab: Lab) -> None:
    staged = lab.word("write-tree")
    taken = lab.take()
    assert lab.files(taken.tree) == lab.lying()
    assert taken.staged_tree == staged
    assert taken.degraded is None
    assert taken.left_out == ()


ACTS: list[Callable[[Lab, str, bytes], None]] = [
    write,
    remove,
    link,
    chmod,
    stage,
    announce,
    unstage,
    hide,
    commit,
    convert,
    snapshot,
]
STEPS = st.tuples(st.sampled_from(ACTS), st.sampled_from(NAMES), st.sampled_from(DATA))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, min_size=3, max_size=15))
def test_any_story(
    steps: list[tuple[Callable[[Lab, str, bytes], None], str, bytes]],
) -> None:
    with TemporaryDirectory() as folder:
        lab = Lab.make(Path(folder).resolve() / "work")
        lab.write(".gitignore", "*.log\n")
        for act, name, data in steps:
            act(lab, name, data)
        check(lab)
        lab.git("fsck", "--strict")
