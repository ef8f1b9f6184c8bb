"""A fork that is stopped at any of its writes is there as a whole, or not at all."""

import signal
from itertools import count

import pytest

from tests.faults.children import Children
from tests.faults.story import Story
from tests.faults.tree import visible


def test_killed_at_every_write(story: Story, nursery: Children) -> None:
    before = story.tree()
    whole = story.make()
    story.reset()
    assert story.tree() == before
    killed = {"before": 0, "after": 0}
    for at in count(1):
        ended = nursery.run(*story.words(), at=at, signal=signal.SIGKILL)
        if ended.status == 0:
            break
        assert ended.signal == signal.SIGKILL
        left = story.tree()
        published = story.fork.exists()
        if published:
            # The agent sees it from now on: all of it must be there.
            assert visible(left) == whole
        killed["after" if published else "before"] += 1
        clean = whole if published else before
        assert bool(story.told()) == (left != clean)
        assert story.tree() == left
        assert bool(story.told("--fix")) == (left != clean)
        assert story.tree() == clean
        assert story.told("--fix") == []
        if not published:
            assert story.shell.run(*story.words()).exit_code == 0
        assert story.tree() == whole
        story.reset()
    assert story.tree() == whole
    # Both sides of the one instant that counts were reached, and many steps of each.
    assert killed["before"] > 30
    assert killed["after"] > 5


@pytest.mark.parametrize("at", ["move", "move:memory", "publish", "remove"])
def test_killed_in_a_project_that_is_used(story: Story, nursery: Children, at: str) -> None:
    """Its session and its empty memory are there afterwards as they were."""
    story.use()
    before = story.tree()
    whole = story.make()
    story.reset()
    nursery.run(*story.words(), at=at, signal=signal.SIGKILL)
    assert story.told("--fix")
    assert story.tree() == (whole if at == "remove" else before)


@pytest.mark.parametrize("at", ["publish", "remove"])
def test_the_cleaning_is_killed_at_every_write(story: Story, nursery: Children, at: str) -> None:
    """Before the fork is published, and after it, when only its staging folder is left."""
    story.use()
    clean = story.tree()
    if at == "remove":
        clean = story.make()
        story.reset()
    for write in count(1):
        nursery.run(*story.words(), at=at, signal=signal.SIGKILL)
        assert story.fork.exists() == (at == "remove")
        ended = nursery.run("doctor", "--fix", at=write, signal=signal.SIGKILL)
        if ended.status == 0:  # it writes less often than that
            assert story.tree() == clean
            break
        assert ended.signal == signal.SIGKILL
        if story.tree() == clean:
            break
        assert story.told("--fix")
        assert story.tree() == clean
        if at == "remove":
            story.reset()


def test_interrupted_at_every_write(story: Story, nursery: Children) -> None:
    before = story.tree()
    whole = story.make()
    story.reset()
    nothing = 0
    for at in count(1):
        ended = nursery.run(*story.words(), at=at, signal=signal.SIGINT)
        if ended.status == 0:
            break
        assert ended.status == 130
        after = story.tree()
        if after == before:
            assert ended.stdout == ""
            nothing += 1
        else:
            # It came too late. When state.db is closed, the answer was printed already.
            assert after == whole
            story.reset()
    assert nothing > 30


@pytest.mark.parametrize("size", [100_000, 1_100_000, 2_000_000, 2_900_000])
def test_killed_while_a_large_file_is_written(story: Story, nursery: Children, size: int) -> None:
    """Only so much of the file is on the disk: the process dies inside a write."""
    story.grow("two", 3_000_000)
    before = story.tree()
    story.shell.ok("list")  # the scan cache has no part in this
    ended = nursery.run(*story.words(4), largest_file=size)
    assert ended.signal == signal.SIGXFSZ
    staged = next(story.project.glob(".prong-*/*.jsonl"))
    assert 0 < staged.stat().st_size <= size
    assert story.told()
    assert story.told("--fix")
    assert story.tree() == before


class TestLiving:
    """What a living process is about to write is not taken for left behind."""

    @pytest.mark.parametrize("at", ["make", "sync", "move", "publish", "remove"])
    def test_its_journal_is_left_alone(self, story: Story, nursery: Children, at: str) -> None:
        child = nursery.start(*story.words(), at=at)
        while child.is_stopped:
            now = story.tree()
            assert story.told() == []
            assert story.told("--fix") == []
            assert story.tree() == now
            child.go_on()
        assert child.ended().status == 0
        made = story.tree()
        story.reset()
        assert story.make() == made

    def test_a_journal_that_is_cleaned_before_it_is_locked(
        self, story: Story, nursery: Children
    ) -> None:
        child = nursery.start(*story.words(), at="fcntl.flock")
        (first,) = story.told("--fix")
        assert first.startswith("removed")
        child.go_on()
        # It began anew; whoever goes on without a journal cannot be cleaned up after.
        assert story.told("--fix") == [first]
        assert child.ended().status == 0
        made = story.tree()
        story.reset()
        assert story.make() == made

    def test_two_clean_at_once(self, story: Story, nursery: Children) -> None:
        before = story.tree()
        nursery.run(*story.words(), at="publish", signal=signal.SIGKILL)
        first = nursery.start("doctor", "--fix", at="remove")
        assert first.is_stopped
        assert story.told("--fix") == []
        assert first.ended().status == 0
        assert story.tree() == before
