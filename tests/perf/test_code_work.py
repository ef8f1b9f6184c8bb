"""How much work the code of a turn is, counted: modules, git processes, objects, files read."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import prong
from prong.code.capture import Capture
from prong.code.snapshots import snapshot
from prong.model.sessions import Conversation, Session, SessionRef, Turn, TurnKind
from prong.testing.home import IsolatedHome
from tests.code.lab import Lab
from tests.samples.claude import ClaudeSample

pytestmark = pytest.mark.perf

SESSION = "60309e1e-9d1c-4b5a-8d59-6a1c3f7be210"
SMALL = {
    "prong",
    "prong.files",
    "prong.files.atomic",
    "prong.files.regular",
    "prong.hook",
    "prong.hook.program",
    "prong.hook.spool",
    "prong.paths",
}
"""Every event needs these."""
TAKING = {
    *("prong.plugins", "prong.agents", "prong.agents.last_turn"),
    *("prong.agents.claude", "prong.agents.claude.last_turn"),
    "prong.code",
    "prong.code.snapshots",
    "prong.errors",
    "prong.files.size_limit",
    "prong.model",
    "prong.model.code",
    *(f"prong.code.{name}" for name in ("changed_files", "git", "repository")),
    *(f"prong.code.snapshots.{name}" for name in ("contents", "fast_import", "private_folder")),
    *(f"prong.code.snapshots.{name}" for name in ("refs", "sizes", "snapshot", "working_tree")),
}
SLOW = {
    "argparse",
    "asyncio",
    "concurrent",
    "email",
    "http",
    "logging",
    "secrets",
    "shutil",
    "uuid",
}
"""Of the standard library: each takes longer to load than it is worth in a hook."""

_seen: list[tuple[str, Any]] = []
_watching: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in {"open", "subprocess.Popen"}:
        _seen.append((event, arguments[1] if event == "subprocess.Popen" else arguments[0]))


# A hook cannot be removed, so it is added once and kept quiet.
sys.addaudithook(_hook)


class Work:
    """What was done meanwhile."""

    def __init__(self, lab: Lab) -> None:
        self._top = os.fsencode(lab.top)
        self.started: list[str] = []
        """The commands of git, in their order."""
        self.read: set[str] = set()
        """Files of the working tree that were opened."""

    def see(self, event: str, what: Any) -> None:
        if event == "subprocess.Popen":
            words = [os.fsdecode(word) for word in what[1:]]
            while words[0].startswith("-"):
                words = words[2:]  # an option and its value
            self.started.append(words[0])
        elif isinstance(what, str | bytes):
            path = os.fsencode(what)
            if path.startswith(self._top + b"/") and not path.startswith(self._top + b"/.git/"):
                self.read.add(os.fsdecode(path[len(self._top) + 1 :]))


@contextmanager
def counted(lab: Lab) -> Generator[Work]:
    work = Work(lab)
    _seen.clear()
    _watching.append(True)
    try:
        yield work
    finally:
        _watching.pop()
        for event, what in _seen:
            work.see(event, what)


@pytest.fixture
def lab(isolated_home: IsolatedHome, tmp_path: Path) -> Lab:
    return with_files(tmp_path / "work", 400)


def with_files(top: Path, count: int) -> Lab:
    lab = Lab.make(top)
    for number in range(count):
        path = lab.write(f"src/part{number % 20}/{number}.py", f"print({number})\n")
        # Not as new as the index: into those git has to look.
        os.utime(path, (10**9, 10**9))
    lab.commit()
    lab.git("gc", "-q")
    return lab


def change(lab: Lab, count: int, text: str) -> set[str]:
    names = {f"src/part{number % 20}/{number}.py" for number in range(count)}
    for name in names:
        lab.write(name, f"{text} in {name}\n")
    return names


def take(lab: Lab, turn: str) -> Work:
    with counted(lab) as work:
        taken = snapshot.take(lab.top, lab.key(turn))
    assert taken is not None
    assert taken.degraded is None
    return work


def imported(home: IsolatedHome, sample: ClaudeSample, event: str) -> set[str]:
    """What the program loads for an event, and nothing else has loaded before."""
    path = sample.write(home.claude)
    told = {
        "session_id": sample.id,
        "transcript_path": str(path),
        "cwd": sample.cwd,
        "hook_event_name": event,
        "last_assistant_message": "done",
    }
    list_ = home.tmp / "modules"
    script = f"""
import sys
before = set(sys.modules)
from prong.hook.program import main
try:
    main()
finally:
    open({str(list_)!r}, "w").write("\\n".join(set(sys.modules) - before))
"""
    subprocess.run(
        [sys.executable, "-P", "-c", script, "claude"],
        input=json.dumps(told).encode(),
        env=home.env({"PYTHONPATH": str(Path(prong.__file__).parents[1])}),
        check=True,
        timeout=60,
    )
    path.unlink()
    return set(list_.read_text().split())


def test_the_hook_imports_the_standard_library_and_little_of_ours(
    isolated_home: IsolatedHome, lab: Lab
) -> None:
    sample = ClaudeSample(SESSION, str(lab.top), datetime.now(UTC))
    sample.prompt("work")
    sample.answer("done")
    modules = imported(isolated_home, sample, "Stop")
    assert {name for name in modules if name.startswith("prong")} == SMALL | TAKING
    tops = {name.partition(".")[0] for name in modules}
    assert tops <= {"prong", *sys.stdlib_module_names}
    assert not tops & SLOW
    # Who takes no snapshot loads nothing of what that needs.
    modules = imported(isolated_home, sample, "Notification")
    assert {name for name in modules if name.startswith("prong")} == SMALL
    assert "subprocess" not in modules


def test_eight_git_processes_take_a_snapshot_of_however_many_files(
    isolated_home: IsolatedHome, tmp_path: Path
) -> None:
    expected = ["rev-parse", "for-each-ref", "config", "ls-files", "diff-files", "diff-index"]
    expected += ["fast-import", "update-ref"]
    for count in (3, 400):
        lab = with_files(tmp_path / str(count), count)
        change(lab, count, "changed")
        assert take(lab, "one").started == expected
        assert take(lab, "two").started == expected


def test_a_turn_that_has_a_snapshot_is_three_questions(lab: Lab) -> None:
    take(lab, "one")
    assert take(lab, "one").started == ["rev-parse", "for-each-ref", "config"]


def test_only_changed_files_are_read(lab: Lab) -> None:
    assert take(lab, "none").read == set()
    names = change(lab, 5, "changed")
    lab.write("new.txt")
    assert take(lab, "some").read == {*names, "new.txt"}


def test_what_was_read_once_and_lies_there_since_is_not_read_again(lab: Lab) -> None:
    for name in change(lab, 5, "changed"):
        os.utime(lab.top / name, (10**9, 10**9))
    _settle(lab)
    assert len(take(lab, "one").read) == 5
    assert take(lab, "two").read == set()
    lab.write("src/part0/0.py", "changed again\n")
    assert take(lab, "three").read == {"src/part0/0.py"}


def test_with_conversions_only_the_first_snapshot_asks_for_the_sizes_of_blobs(lab: Lab) -> None:
    lab.write(".gitattributes", "*.py text=auto\n")
    lab.commit()
    assert "cat-file" in take(lab, "one").started
    change(lab, 5, "changed")
    work = take(lab, "two")
    assert "cat-file" not in work.started
    assert len(work.read - {".gitattributes"}) == 5


def test_files_of_another_encoding_are_read_once(lab: Lab) -> None:
    lab.write("src/part0/.gitattributes", "*.py working-tree-encoding=UTF-16LE\n")
    names = {f"src/part0/{number}.py" for number in range(0, 400, 20)}
    for name in names:
        os.utime(lab.write(name, "print(1)\n".encode("utf-16-le")), (10**9, 10**9))
    lab.commit()
    _settle(lab)
    lab.git("status")
    assert take(lab, "one").read == {*names, "src/part0/.gitattributes"}
    assert take(lab, "two").read == {"src/part0/.gitattributes"}


@pytest.mark.parametrize("conflict", [False, True])
def test_300_staged_files_in_60_folders_are_one_pack(lab: Lab, conflict: bool) -> None:
    names = [f"d{number % 60}/{number}.txt" for number in range(300)]
    for name in names:
        lab.write(name)
    lab.commit()
    if conflict:
        lab.git("checkout", "-q", "-b", "theirs")
        lab.write("src/part1/1.py", "theirs\n")
        lab.commit()
        lab.git("checkout", "-q", "main")
        lab.write("src/part1/1.py", "ours\n")
        lab.commit()
        lab.git("merge", "theirs", check=False)
    lab.git("gc", "-q")
    take(lab, "before")
    for name in names:
        lab.write(name, f"changed in {name}\n")
    lab.git("add", *names)
    assert bool(lab.git("ls-files", "-u")) == conflict
    packs, loose = lab.objects()
    take(lab, "after")
    more_packs, more_loose = lab.objects()
    assert more_packs == packs + 1
    assert more_loose <= loose + 5
    # What is still staged the next time makes no more of them.
    take(lab, "later")
    packs, loose = lab.objects()
    assert packs == more_packs
    assert loose <= more_loose + 3
    lab.git("fsck", "--strict")


def test_300_deleted_files_in_60_folders_are_one_pack(lab: Lab) -> None:
    for number in range(600):
        lab.write(f"d{number % 60}/{number}.txt", f"{number}\n")
    lab.commit()
    lab.git("gc", "-q")
    take(lab, "before")
    packs, loose = lab.objects()
    for number in range(300):
        (lab.top / f"d{number % 60}/{number}.txt").unlink()
    take(lab, "after")
    more_packs, more_loose = lab.objects()
    assert more_packs == packs + 1
    assert more_loose <= loose + 5


def test_300_changed_files_are_one_pack(lab: Lab) -> None:
    take(lab, "before")
    packs, loose = lab.objects()
    change(lab, 300, "changed")
    take(lab, "after")
    more_packs, more_loose = lab.objects()
    assert more_packs == packs + 1
    assert more_loose <= loose + 5


def test_a_turn_without_changes_is_one_object(lab: Lab) -> None:
    take(lab, "before")
    packs, loose = lab.objects()
    take(lab, "after")
    assert lab.objects() == (packs, loose + 1)


def test_five_changed_files_are_not_a_pack(lab: Lab) -> None:
    packs, loose = lab.objects()
    change(lab, 5, "changed")
    take(lab, "one")
    # Five files, their folders, the folder of these, the whole, and the commit.
    assert lab.objects() == (packs, loose + 5 + 5 + 1 + 1 + 1)


@pytest.mark.parametrize("turns", [2, 40])
def test_the_code_of_a_list_of_turns_takes_as_many_git_processes_as_that_of_two(
    lab: Lab, tmp_path: Path, turns: int
) -> None:
    """Three of the five look for LFS."""
    lab.write(".gitattributes", "*.py text\n")
    capture, session = in_turns(lab, tmp_path, turns)
    with counted(lab) as work:
        assert not any(turn.gaps for turn in capture.with_code(session).turns)
    assert work.started == ["cat-file", "ls-tree", "diff-tree", "cat-file", "diff-tree"]
    with counted(lab) as work:
        capture.with_code(session, lfs=False)
    assert work.started == ["cat-file", "diff-tree"]


@pytest.mark.parametrize("turns", [2, 40])
def test_lfs_files_of_many_turns_are_three_more(lab: Lab, tmp_path: Path, turns: int) -> None:
    lab.write(".gitattributes", "*.png filter=lfs\n")
    oid = "0" * 64
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n"
    lab.write("logo.png", pointer)
    capture, session = in_turns(lab, tmp_path, turns)
    with counted(lab) as work:
        assert all(turn.gaps for turn in capture.with_code(session).turns)
    first = ["cat-file", "ls-tree", "diff-tree", "cat-file"]
    assert work.started == [*first, "cat-file", "cat-file", "config", "diff-tree"]


def in_turns(lab: Lab, state: Path, turns: int) -> tuple[Capture, Conversation]:
    """A session that changed a file in each turn."""
    taken: list[Turn] = []
    for number in range(1, turns + 1):
        change(lab, 1, f"turn {number}")
        snapshot.take(lab.top, lab.key(f"turn{number}"))
        taken.append(Turn(index=number, id=f"turn{number}", kind=TurnKind.HUMAN, prompt="work"))
    key = lab.key("turn1")
    ref = SessionRef(key.agent, key.session)
    session = Session(ref=ref, file="session", title="work", cwd=str(lab.top))
    capture = Capture(state)
    capture.rebuild(lab.top)
    return capture, Conversation(session, tuple(taken))


def _settle(lab: Lab) -> None:
    """Wait until the last write is old enough to be seen in a time."""
    newest = max(path.stat().st_ctime_ns for path in lab.top.rglob("*.py"))
    probe = lab.top.parent / "probe"
    while True:
        probe.write_text("now")
        if probe.stat().st_mtime_ns > newest + 2 * 10**9:
            return
        time.sleep(0.05)
