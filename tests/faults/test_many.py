"""Many forks of one session: at once, and one after the other."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.shell import prong
from tests.faults.children import Child, Children
from tests.faults.story import ID, Story

MANY = 20


def test_at_once(story: Story) -> None:
    before = story.tree()
    turns = story.turns(ID)[:2]
    words = prong("fork", f"{ID}@2", "--into", str(story.into), "--json")
    running = [
        subprocess.Popen(
            words, env=story.shell.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(MANY)
    ]
    said = [one.communicate(timeout=60) for one in running]
    assert [one.returncode for one in running] == [0] * MANY, said
    made = [json.loads(out)["fork"] for out, _ in said]
    assert [fork["warnings"] for fork in made] == [[]] * MANY
    children = {fork["child"] for fork in made}
    assert len(children) == MANY
    for child in children:
        assert story.turns(child) == turns
        home = story.project / child.removeprefix("claude:")
        names = {path.name for path in home.rglob("*") if path.is_file()}
        assert names == {"agent-a1.jsonl", "agent-a1.meta.json", "big.txt"}
    assert (story.project / "memory" / "deep" / "note.md").read_text() == "deep"
    assert len(list(story.project.iterdir())) == 2 * MANY + 1
    project = str(story.project.relative_to(story.shell.home.root))
    assert {path for path in story.tree() if not path.startswith(project)} == set(before)
    assert story.told() == []
    assert json.dumps(story.shell.json("tree", ID)).count('"ref"') == MANY + 1


def take_the_id(story: Story, child: Child) -> None:
    """Of the fork that is about to be published."""
    child.go_on()
    (staged,) = story.project.glob(".prong-*/*.jsonl")
    (story.project / staged.name.partition("-")[2]).write_text("{}\n")


def delete_the_source(story: Story, child: Child) -> None:
    story.path.unlink()
    story.keep()


@pytest.mark.parametrize(
    ("accident", "code"), [(take_the_id, "taken"), (delete_the_source, "not_found")]
)
def test_the_third_of_five_fails(
    story: Story, nursery: Children, accident: Callable[[Story, Child], None], code: str
) -> None:
    words = ["fork", f"{ID}@2", "--into", str(story.into), "--count", "5"]
    turns = story.turns(ID)
    child = nursery.start(*words, "--json", at="publish")
    child.go_on()
    accident(story, child)
    problem = child.ended().problem
    assert problem["code"] == code
    made: list[str] = problem["details"]["made"]
    assert len(made) == 2
    assert all(name in problem["message"] for name in made)
    for name in made:
        assert story.turns(name) == turns[:2]
        assert (story.project / name.removeprefix("claude:") / "tool-results").is_dir()
    assert story.told() == []
    assert not list(story.project.glob(".prong-*"))
    folders = [path for path in story.project.iterdir() if path.is_dir()]
    assert len(folders) == 3  # one for each, and the memory


def test_five(story: Story) -> None:
    made = story.shell.json("fork", f"{ID}@2", "--into", str(story.into), "--count", "5")["forks"]
    assert len({fork["child"] for fork in made}) == 5
    assert all(Path(fork["path"]).is_file() for fork in made)
    assert story.told() == []
