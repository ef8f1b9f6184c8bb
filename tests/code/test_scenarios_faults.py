"""Hard scenarios, by number: others who write, kill and fill disks (1, 2, 19, 23)."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from prong.code.snapshots import snapshot
from prong.errors import ProngError
from prong.model.code import Snapshot, TurnKey
from tests.code.lab import Lab, git

SECONDS = 3
"""For what could go on for ever."""


class Meanwhile:
    """Something that somebody else does until the end of a block."""

    def __init__(self, work: Callable[[int], None], pause: float) -> None:
        self._work = work
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.done = 0
        self.failed: list[BaseException] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                self._work(self.done)
            except (AssertionError, OSError) as error:
                self.failed.append(error)
            self.done += 1


def test_01_a_hundred_file_operations_in_a_second(used: Lab) -> None:
    used.write("sentinel.txt", "always here\n")
    used.write("tracked/sentinel.txt", "one\n")
    used.commit()
    used.write("tracked/sentinel.txt", "always here\n")

    def churn(number: int) -> None:
        used.write(f"churn/{number % 40}/file.txt", f"{number}\n" * 2000)
        gone = used.top / f"churn/{(number + 20) % 40}/file.txt"
        gone.unlink(missing_ok=True)
        if number % 40 == 0:
            used.write("tracked/b.txt", "x" * (number % 7000))

    taken: list[Snapshot] = []
    with Meanwhile(churn, 0.004) as writer:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            one = snapshot.take(used.top, used.key(f"churn-{len(taken)}"))
            assert one is not None
            taken.append(one)
    assert writer.failed == []
    assert writer.done > SECONDS * 50
    assert len(taken) > 5
    for one in taken:
        files = used.files(one.tree)
        assert files[b"sentinel.txt"][1] == b"always here\n"
        assert files[b"tracked/sentinel.txt"][1] == b"always here\n"
        for path, (_, data) in files.items():
            if path.startswith(b"churn/"):
                # Never a piece of a file that was there as a whole.
                assert data == b"" or len(set(data.split(b"\n"))) == 2
    used.git("fsck", "--strict")


def test_02_a_user_who_commits_and_four_who_take_snapshots(used: Lab) -> None:
    for number in range(200):
        used.write(f"many/{number}", f"{number}\n")
    used.commit()

    def user(number: int) -> None:
        used.write("user.txt", f"{number}\n")
        used.git("add", "user.txt")
        used.git("commit", "-q", "-m", f"number {number}")
        used.git("status")

    def session(name: int) -> int:
        count = 0
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            used.write(f"session-{name}.txt", f"{count}\n")
            key = TurnKey("claude", f"session-{name}", f"turn-{count}")
            taken = snapshot.take(used.top, key)
            assert taken is not None
            files = used.files(taken.tree)
            assert files[b"session-%d.txt" % name][1] == b"%d\n" % count
            assert len(files) > 200
            count += 1
        return count

    with Meanwhile(user, 0) as committing, ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(session, range(4)))
    assert committing.failed == []
    assert committing.done > 3
    assert min(counts) > 1
    used.git("fsck", "--strict")
    assert len(snapshot.find(used.top)) == sum(counts)
    assert used.private() == []


def test_02_the_same_turn_at_the_same_time(used: Lab) -> None:
    used.write("a.txt", "two\n")
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(snapshot.take, [used.top] * 4, [used.key("same")] * 4))
    assert None not in taken
    assert len({one.commit for one in taken if one is not None}) == 1
    assert snapshot.find(used.top) == [taken[0]]


_FROZEN = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
shift
exec "$@"
"""
_FULL = """
mount -t tmpfs -o size=600k none "$1" || exit 99
cd "$1" && git init -q . && echo one >a.txt && git add .
git -c user.name=x -c user.email=x@y commit -q -m x
head -c 300000 /dev/urandom >new.bin
head -c "$2" /dev/urandom >filling.log 2>/dev/null
shift 2
"$@"
status=$?
rm filling.log
git fsck --strict || exit 98
ls .git/prong .git/objects/pack
git for-each-ref
exit $status
"""
_TAKE = """
import sys
from pathlib import Path
from prong.errors import ProngError
from prong.model.code import TurnKey
from prong.code.snapshots import snapshot as snapshots
try:
    snapshots.take(Path(sys.argv[1]), TurnKey("claude", "a", "b"))
except ProngError as error:
    print(error)
    sys.exit(7)
"""


def elsewhere(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Take a snapshot of a folder, with a mount that only this process sees."""
    words = ["unshare", "-rm", "sh", "-c", script, "sh", *arguments]
    words += [sys.executable, "-c", _TAKE, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip("nothing can be mounted here")
    return done


def test_19_read_only_git_folder(used: Lab) -> None:
    used.write("a.txt", "two\n")
    before = used.touched()
    done = elsewhere(_FROZEN, used.top, str(used.top / ".git"))
    assert done.returncode == 7, done.stderr
    assert done.stdout == (f"no snapshot can be kept in {used.top}/.git: Read-only file system\n")
    assert used.touched() == before


@pytest.mark.parametrize("filled", [400_000, 150_000])
def test_19_disk_full(tmp_path: Path, filled: int) -> None:
    """From the start, and while git writes: nothing is left that takes more of it."""
    done = elsewhere(_FULL, tmp_path, str(tmp_path), str(filled))
    assert done.returncode == 7, (done.stdout, done.stderr)
    assert "No space left" in done.stdout or "Out of diskspace" in done.stdout
    said, left = done.stdout.split("\n", 1)
    assert "refs/prong" not in left, said
    assert "tmp_pack" not in left
    assert "take-" not in left


def test_19_killed_at_every_step(used: Lab) -> None:
    used.write("staged.txt")
    used.git("add", "staged.txt")
    program = Path(__file__).with_name("killing.py")
    done = subprocess.run(
        [sys.executable, str(program), str(used.top)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(steps) > 15
    assert [step["killed"] for step in steps] == [True] * (len(steps) - 1) + [False]
    # Both sides of the one instant that counts were reached.
    made = [step["made"] for step in steps]
    assert not made[0]
    assert made.index(True) < len(made) - 1
    assert all(made[made.index(True) :])
    # The last one has swept everything, and no ref lacks an object.
    assert used.private() == []
    assert not list((used.top / ".git").glob("fast_import_crash_*"))
    used.git("fsck", "--strict", "--full")
    for taken in snapshot.find(used.top):
        assert used.files(taken.tree)
        assert taken.staged_tree is not None
    assert used.is_exact(used.take())


_KILLED = """
import os, signal, sys
from pathlib import Path
from prong.model.code import TurnKey
from prong.code.snapshots import snapshot as snapshots

read = []

def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], bytes) and arguments[0].endswith(b".bin"):
        read.append(arguments[0])
        if len(read) == 3:
            os.killpg(0, signal.SIGKILL)

sys.addaudithook(hook)
snapshots.take(Path(sys.argv[1]), TurnKey("claude", "killed", "one"))
"""
"""With its git, while that writes a pack: the first file was more than a pipe holds."""


def test_19_killed_together_with_git(used: Lab) -> None:
    for number in range(4):
        used.write(f"{number}.bin", os.urandom(3_000_000))
    of_another = used.top / ".git/objects/pack/tmp_pack_abc123"
    of_another.parent.mkdir(exist_ok=True)
    of_another.write_bytes(b"PACK")
    words = [sys.executable, "-c", _KILLED, str(used.top)]
    done = subprocess.run(words, start_new_session=True, check=False)
    assert done.returncode == -9
    assert used.private() != []
    assert used.is_exact(used.take())
    # A git that runs may still write to what is not ours.
    assert list((used.top / ".git/objects").rglob("tmp_*")) == [of_another]
    assert used.private() == []


def test_19_git_is_killed(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever git dies, there is an error or a whole snapshot."""
    program = used.top.parent / "bin/git"
    program.parent.mkdir()
    for victim in (
        "rev-parse",
        "for-each-ref",
        "diff-index",
        "fast-import",
        "ls-files",
        "update-ref",
    ):
        program.write_text(
            f'#!/bin/sh\nfor word in "$@"; do\n'
            f'  [ "$word" = {victim} ] && kill -9 $$\ndone\nexec /usr/bin/env -u PATH '
            f'PATH=/usr/local/bin:/usr/bin:/bin git "$@"\n'
        )
        program.chmod(0o755)
        with monkeypatch.context() as patched:
            patched.setenv("PATH", f"{program.parent}:/usr/local/bin:/usr/bin:/bin")
            with pytest.raises(ProngError):
                snapshot.take(used.top, used.key(victim))
    assert snapshot.find(used.top) == []
    assert used.private() == []


def test_23_two_agents_in_one_working_tree(used: Lab) -> None:
    """Each has its own history, and neither brings back what the other one deleted."""
    one, other = used, Lab(used.top, session="other")
    used.write("from-one.txt")
    first = one.take()
    used.write("from-other.txt")
    second = other.take()
    (used.top / "from-one.txt").unlink()
    third = other.take()
    (used.top / "from-other.txt").unlink()
    fourth = one.take()
    for taken in (first, second, third, fourth):
        assert taken in snapshot.find(used.top)
    assert set(used.files(third.tree)) - {b"from-other.txt"} == set(used.files(fourth.tree))
    assert used.is_exact(fourth)
    assert b"from-one.txt" in used.files(second.tree)
    assert used.word("rev-parse", f"{fourth.ref}^1") == first.commit
    assert used.word("rev-parse", f"{third.ref}^1") == second.commit
    git(used.top, "fsck", "--strict")
