"""What stands in the way of a fork, from the beginning or all of a sudden."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.faults.children import Children
from tests.faults.story import ID, NEW, OTHER, Story

THEIRS = "somebody else's\n"


class TestTaken:
    @pytest.mark.parametrize("where", ["the same project", "another project"])
    def test_an_id_that_is_in_use(self, story: Story, where: str) -> None:
        folder = story.project if where == "the same project" else story.path.parent
        folder.mkdir(exist_ok=True)
        taken = folder / story.fork.name
        taken.write_text(THEIRS)
        before = story.tree()
        problem = story.shell.problem(2, *story.words()[:-1])
        assert problem["code"] == "taken"
        assert problem["details"] == {"path": str(taken)}
        assert story.tree() == before

    def test_at_the_last_moment(self, story: Story, nursery: Children) -> None:
        child = nursery.start(*story.words(), at="publish")
        story.fork.write_text(THEIRS)
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (2, "taken")
        assert story.fork.read_text() == THEIRS
        assert story.told() == []
        # They may count on the memory: nobody else will give them one.
        assert {path.name for path in story.project.iterdir()} == {story.fork.name, "memory"}

    def test_a_folder_of_that_name(self, story: Story, nursery: Children) -> None:
        child = nursery.start(*story.words(), at=f"move:{NEW}")
        theirs = story.fork.with_suffix("") / "subagents" / "agent-b2.jsonl"
        theirs.parent.mkdir(parents=True)
        theirs.write_text(THEIRS)
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (2, "taken")
        assert story.told() == []
        assert [path for path in story.project.rglob("*") if path.is_file()] == [theirs]
        assert theirs.read_text() == THEIRS

    def test_two_of_one_id(self, story: Story, nursery: Children) -> None:
        """Both have all but published: one wins, and loses nothing by the other."""
        first = nursery.start(*story.words(), at="move")
        second = nursery.start(*story.words(), at="move")
        assert second.ended().status == 0
        whole = story.tree()
        assert first.ended().problem["code"] == "taken"
        assert story.told() == []
        assert {path for path in story.tree() if not path.startswith(".local")} == {
            path for path in whole if "/.prong-" not in path and not path.startswith(".local")
        }
        assert story.turns(NEW) == story.turns(ID)[:2]


class TestMemory:
    """It belongs to all sessions of a project."""

    def test_it_is_there_all_of_a_sudden(self, story: Story, nursery: Children) -> None:
        child = nursery.start(*story.words(), at="move:memory")
        theirs = story.project / "memory" / "MEMORY.md"
        theirs.parent.mkdir()
        theirs.write_text(THEIRS)
        assert child.ended().status == 0
        assert list(theirs.parent.iterdir()) == [theirs]
        assert theirs.read_text() == THEIRS
        assert story.turns(NEW) == story.turns(ID)[:2]
        assert story.told() == []

    def test_that_of_a_killed_fork_is_used_by_another_one(
        self, story: Story, nursery: Children
    ) -> None:
        nursery.run(*story.words(), at="publish", signal=signal.SIGKILL)
        words = [OTHER if word == NEW else word for word in story.words()]
        assert story.shell.run(*words).exit_code == 0
        assert story.told("--fix")
        assert (story.project / "memory" / "MEMORY.md").read_text() == "likes tabs"
        names = {path.name for path in story.project.iterdir()}
        assert names == {OTHER, f"{OTHER}.jsonl", "memory"}

    def test_that_of_a_killed_fork_is_written_to(self, story: Story, nursery: Children) -> None:
        nursery.run(*story.words(), at="publish", signal=signal.SIGKILL)
        note = story.project / "memory" / "MEMORY.md"
        note.write_text(THEIRS)
        assert story.told("--fix")
        assert note.read_text() == THEIRS
        assert [path.name for path in story.project.iterdir()] == ["memory"]


class TestFolder:
    def test_it_is_missing(self, story: Story) -> None:
        story.into.rmdir()
        before = story.tree()
        problem = story.shell.problem(3, *story.words()[:-1])
        assert problem["code"] == "not_found"
        assert problem["hint"] == f"mkdir -p {story.into}"
        assert story.tree() == before

    def test_it_is_a_file(self, story: Story) -> None:
        story.into.rmdir()
        story.into.write_text("")
        before = story.tree()
        problem = story.shell.problem(2, *story.words()[:-1])
        assert problem["message"] == f"{story.into} is not a folder"
        assert story.tree() == before

    def test_that_of_the_session_is_gone(self, story: Story) -> None:
        moved = story.shell.home.projects / "moved"
        Path(story.sample.cwd).rename(moved)
        before = story.tree()
        problem = story.shell.problem(3, "fork", f"{ID}@2")
        assert problem["code"] == "not_found"
        assert "--into" in problem["hint"]
        assert story.tree() == before
        assert story.shell.json("fork", f"{ID}@2", "--into", str(moved))["fork"]["child"]

    def test_a_file_has_the_name_of_the_project(self, story: Story) -> None:
        story.project.write_text(THEIRS)
        before = story.tree()
        problem = story.shell.problem(2, *story.words()[:-1])
        assert problem["message"] == f"{story.project} is not a folder"
        assert story.tree() == before

    def test_the_project_becomes_a_file(self, story: Story, nursery: Children) -> None:
        child = nursery.start(*story.words(), at="move")
        shutil.rmtree(story.project)
        story.project.write_text(THEIRS)
        ended = child.ended()
        assert ended.status == 8, ended.stderr
        assert story.project.read_text() == THEIRS
        assert story.told() == []

    def test_another_fork_that_failed_takes_the_new_project_away(
        self, story: Story, nursery: Children
    ) -> None:
        child = nursery.start(*story.words(), at="make")
        child.go_on()
        story.project.rmdir()
        assert child.ended().status == 0
        assert story.turns(NEW) == story.turns(ID)[:2]
