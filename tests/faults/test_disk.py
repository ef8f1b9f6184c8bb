"""Disks that are full, broken or not to be written to: a clear error, and nothing is left."""

import os
import subprocess
from itertools import count
from pathlib import Path

import pytest

from tests.cli.shell import prong
from tests.faults.children import Children, Ended
from tests.faults.story import Story

NOTHING = "no files were left behind"
WRITES = 50
"""More than a fork has."""

_FULL = """
set -e
mount -t tmpfs -o "$1" none "$2"
if [ -n "$3" ]; then dd if=/dev/zero of="$2/filled" bs=4096 count="$3" status=none; fi
folder=$2 left=$4
shift 4
status=0
"$@" || status=$?
find "$folder" -type f -o -name '.prong*' | sort >"$left"
exit $status
"""

_FROZEN = """
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
if touch "$1/written" 2>/dev/null; then exit 99; fi
shift
exec "$@"
"""


def run(story: Story, *argv: str) -> Ended:
    done = subprocess.run(
        argv, env=story.shell.env(), capture_output=True, text=True, check=False, timeout=60
    )
    return Ended(done.returncode, None, done.stdout, done.stderr)


def on_a_small_disk(
    story: Story, folder: Path, options: str, *, turn: int = 2, filled: int = 0
) -> tuple[Ended, list[str]]:
    """Fork while a small disk is at `folder`: what came of it, and what is left on the disk."""
    left = story.shell.home.root.parent / "left"
    words = [options, str(folder), str(filled or ""), str(left), *prong(*story.words(turn))]
    ended = run(story, "unshare", "-rm", "sh", "-c", _FULL, "sh", *words)
    return ended, left.read_text().splitlines()


def frozen(story: Story, folder: Path) -> Ended:
    """Fork while nothing can be written below `folder`."""
    words = [str(folder), *prong(*story.words())]
    return run(story, "unshare", "-rm", "sh", "-c", _FROZEN, "sh", *words)


@pytest.mark.parametrize(
    "options", ["size=4k", "size=400k", "size=1m,nr_inodes=4", "size=1m,nr_inodes=9"]
)
def test_the_disk_of_the_sessions_is_full(story: Story, options: str) -> None:
    story.grow("more", 500_000)
    story.project.mkdir()
    before = story.tree()
    ended, left = on_a_small_disk(story, story.project, options, turn=4)
    assert ended.status == 8, ended.stderr
    assert ended.problem["code"] == "external"
    assert "No space left on device" in ended.problem["message"]
    assert ended.problem["hint"] == NOTHING
    assert left == []
    assert story.tree() == before


@pytest.mark.parametrize("pages", [1, 2])
def test_the_disk_of_the_journal_is_full(story: Story, pages: int) -> None:
    """At once, or in the middle of a line of the journal."""
    for number in range(80):
        (story.path.parent / "memory" / f"{number}.md").write_text("x")
    story.keep()
    state = story.shell.home.root / ".local/state/prong"
    state.mkdir()
    before = story.tree()
    ended, left = on_a_small_disk(story, state, f"size={4 * pages}k", filled=1)
    assert ended.status == 8, ended.stderr
    assert "No space left on device" in ended.problem["message"]
    assert left == [str(state / "filled")]
    assert story.tree() == before


def test_the_sessions_cannot_be_written_to(story: Story) -> None:
    before = story.tree()
    ended = frozen(story, story.shell.home.claude)
    assert ended.status == 8, ended.stderr
    assert "Read-only file system" in ended.problem["message"]
    assert str(story.project) in ended.problem["message"]
    assert story.tree() == before


def test_the_journal_cannot_be_written(story: Story) -> None:
    """Without a journal nobody could clean up after a crash: then nothing is begun."""
    before = story.tree()
    ended = frozen(story, story.shell.home.root / ".local/state")
    assert ended.status == 8, ended.stderr
    assert "Read-only file system" in ended.problem["message"]
    assert ".local/state/prong" in ended.problem["message"]
    assert story.tree() == before


def test_a_sub_agent_that_cannot_be_read(story: Story) -> None:
    """It is a part of the fork: without it there is none."""
    agent = story.path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    before = story.tree()
    agent.chmod(0)
    # To root all files are open, unless it gives that up.
    humble = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    ended = run(story, *humble, *prong(*story.words()))
    agent.chmod(0o600)
    assert ended.status == 8, ended.stderr
    assert "Permission denied" in ended.problem["message"]
    assert ended.problem["details"]["path"] == str(agent)
    assert story.tree() == before


@pytest.mark.parametrize("lasting", [False, True], ids=["one write", "all writes from one on"])
def test_writes_fail(story: Story, nursery: Children, lasting: bool) -> None:
    """Each in turn, those of the cleaning as well."""
    before = story.tree()
    whole = story.make()
    story.reset()
    hints: dict[str, int] = {NOTHING: 0, "prong doctor --fix": 0}
    for at in count(1):
        ended = nursery.run(*story.words(), at=at, signal=None, lasting=lasting)
        left = story.tree()
        story.told("--fix")
        if ended.status == 0:
            assert story.tree() == whole
            story.reset()
            if at > WRITES:
                break
            continue
        assert ended.status == 8, (at, ended.stderr)
        assert "Input/output error" in ended.problem["message"]
        hints[ended.problem["hint"]] += 1
        assert (left == before) == (ended.problem["hint"] == NOTHING)
        assert story.tree() == before
    assert hints[NOTHING] > 0
    assert (hints["prong doctor --fix"] > 0) == lasting
