"""The session changes while it is forked: the fork has what it had, or there is a clear error."""

import json
import subprocess
from pathlib import Path

import pytest

from prong.app import App
from prong.errors import NotFound
from prong.forks.request import ForkRequest
from tests.cli.shell import prong
from tests.faults.children import Children
from tests.faults.story import ID, NEW, Story

COPYING = f"write:-{NEW}.jsonl"
"""The session is read, and nothing of the fork is written yet."""
COPIED = "write:note.md"
"""All of the session is written, and the last of what comes along is about to be."""
DECIDED = "sync"
"""The session was looked at for the last time: from now on its fork does not need it."""


class TestGrowing:
    @pytest.mark.parametrize("at", [COPYING, COPIED])
    def test_later_turns_are_not_in_the_fork(
        self, story: Story, nursery: Children, at: str
    ) -> None:
        story.make()
        whole = story.forked()
        story.reset()
        child = nursery.start(*story.words(), at=at)
        assert child.is_stopped
        story.answer("four")
        assert child.ended().status == 0
        assert story.forked() == whole
        assert story.told() == []

    def test_the_last_turn_gets_longer(self, story: Story, nursery: Children) -> None:
        """It is copied anew, as it is then."""
        child = nursery.start(*story.words(3), at=COPYING)
        story.say("third, and more")
        child.go_on()
        assert child.is_stopped  # a second try
        assert child.ended().status == 0
        assert "third, and more" in story.fork.read_text()
        assert story.turns(NEW) == story.turns(ID)
        assert story.told() == []

    def test_the_last_turn_gets_longer_and_longer(self, story: Story, nursery: Children) -> None:
        before = set(story.tree())
        child = nursery.start(*story.words(3), at=COPYING)
        while child.is_stopped:
            story.say("and more")
            child.go_on()
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (4, "busy")
        assert set(story.tree()) == before

    @pytest.mark.parametrize("at", [COPYING, COPIED])
    def test_half_a_line(self, story: Story, nursery: Children, at: str) -> None:
        """Of a turn that begins: no part of the fork, and no harm to it."""
        child = nursery.start(*story.words(3), at=at)
        story.append_bytes(b'{"type":"user","message":{"role":"us')
        assert child.ended().status == 0
        assert story.turns(NEW) == story.turns(ID)
        assert '"role":"us' + "\n" not in story.fork.read_text()

    def test_a_writer_that_never_rests(self, story: Story, nursery: Children) -> None:
        turns = story.turns(ID)
        with story.growing():
            for number in range(8):
                id_ = f"{number + 20:08x}-0000-4000-8000-000000000000"
                words = [id_ if word == NEW else word for word in story.words()]
                ended = nursery.run(*words)
                assert ended.status == 0, ended.stderr
                assert story.turns(id_) == turns[:2]
        assert len(story.turns(ID)) > len(turns)
        assert story.told() == []


class TestBusy:
    """The agent says that it is at work."""

    def test_the_running_turn_when_it_is_done(self, story: Story) -> None:
        story.ask("four")
        story.work()
        assert story.shell.problem(4, *story.words(4)[:-1])["code"] == "busy"
        waiting = subprocess.Popen(
            prong(*story.words(4), "--wait", "60"),
            env=story.shell.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stderr
        assert "waiting" in waiting.stderr.readline()
        story.rest()
        _, said = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, said
        assert "finished at last" in story.fork.read_text()
        assert story.turns(NEW) == story.turns(ID)

    def test_an_earlier_turn_while_it_works(self, story: Story, nursery: Children) -> None:
        story.make()
        whole = story.forked()
        story.reset()
        story.ask("four")
        child = nursery.start(*story.words(), at=COPIED)
        story.work()
        ended = child.ended()
        assert ended.status == 0, ended.stderr
        assert story.forked() == whole

    def test_it_begins_to_work_while_it_is_forked(self, story: Story, nursery: Children) -> None:
        story.ask("four")
        child = nursery.start(*story.words(4), at=COPIED)
        story.work()
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (4, "busy")
        assert not story.project.exists()
        assert story.told() == []


class TestReplaced:
    @pytest.mark.parametrize("at", [COPYING, COPIED])
    def test_by_the_same_and_more(self, story: Story, nursery: Children, at: str) -> None:
        story.make()
        whole = story.forked()
        story.reset()
        child = nursery.start(*story.words(), at=at)
        other = story.path.with_suffix(".new")
        other.write_bytes(story.path.read_bytes())
        other.replace(story.path)
        assert child.ended().status == 0
        assert story.forked() == whole
        assert story.told() == []

    @pytest.mark.parametrize("at", [COPYING, COPIED])
    def test_by_another_conversation(self, story: Story, nursery: Children, at: str) -> None:
        child = nursery.start(*story.words(), at=at)
        story.rewrite(json.dumps({**story.sample.lines[0], "uuid": NEW}) + "\n", rename=True)
        before = story.tree()
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (3, "not_found")
        story.is_as_before(before)

    @pytest.mark.parametrize("at", [COPYING, COPIED])
    def test_in_place(self, story: Story, nursery: Children, at: str) -> None:
        child = nursery.start(*story.words(), at=at)
        story.rewrite(json.dumps({**story.sample.lines[0], "uuid": NEW}) + "\n", rename=False)
        before = story.tree()
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (3, "not_found")
        story.is_as_before(before)

    @pytest.mark.parametrize("at", [COPYING, COPIED])
    @pytest.mark.parametrize("lines", [0, 1, 5])
    def test_cut_short(self, story: Story, nursery: Children, at: str, lines: int) -> None:
        child = nursery.start(*story.words(), at=at)
        kept = story.path.read_text().splitlines(keepends=True)[:lines]
        story.rewrite("".join(kept), rename=False)
        before = story.tree()
        ended = child.ended()
        assert ended.problem["code"] in ("not_found", "corrupt")
        assert "report" not in (ended.problem["hint"] or "")
        story.is_as_before(before)

    @pytest.mark.parametrize("at", [COPYING, COPIED])
    def test_deleted(self, story: Story, nursery: Children, at: str) -> None:
        child = nursery.start(*story.words(), at=at)
        story.path.unlink()
        story.keep()
        before = story.tree()
        ended = child.ended()
        assert (ended.status, ended.problem["code"]) == (3, "not_found")
        assert ended.problem["message"] == f"{story.path} is gone"
        story.is_as_before(before)

    def test_deleted_when_it_is_no_longer_needed(self, story: Story, nursery: Children) -> None:
        story.make()
        whole = story.forked()
        story.reset()
        child = nursery.start(*story.words(), at=DECIDED)
        story.path.unlink()
        story.keep()
        assert child.ended().status == 0
        assert story.forked() == whole

    def test_a_sub_agent_is_deleted(self, story: Story, nursery: Children) -> None:
        child = nursery.start(*story.words(), at=COPYING)
        (story.path.with_suffix("") / "subagents" / "agent-a1.jsonl").unlink()
        story.keep()
        ended = child.ended()
        assert ended.status == 8
        assert "agent-a1.jsonl" in ended.problem["message"]
        assert not story.project.exists()

    def test_moved_between_plan_and_fork(self, story: Story) -> None:
        with App() as app:
            plan = app.forks.plan(f"{ID}@2", ForkRequest(into=story.into))
            before = story.tree()
            story.path.rename(story.path.with_suffix(".old"))
            with pytest.raises(NotFound, match="is gone"):
                app.forks.make(plan)
            story.path.with_suffix(".old").rename(story.path)
            assert story.tree() == before


class TestPlaces:
    def test_a_fork_of_a_fork(self, story: Story) -> None:
        story.make()
        again = story.shell.json("fork", f"{NEW}@1")["fork"]
        assert story.turns(again["child"]) == story.turns(ID)[:1]
        assert Path(again["path"]).parent == story.project
        tree = story.shell.json("tree", ID)
        assert NEW in json.dumps(tree)

    def test_a_session_file_that_is_a_link(self, story: Story) -> None:
        real = story.shell.home.root / "elsewhere"
        real.mkdir()
        story.path.rename(real / story.path.name)
        story.path.symlink_to(real / story.path.name)
        before = story.tree()
        story.make()
        story.reset()
        assert story.tree() == before
        assert story.path.is_symlink()
