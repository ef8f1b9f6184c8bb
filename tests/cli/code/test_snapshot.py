"""`prong snapshot`, and what `prong turns` tells of code."""

import subprocess
from pathlib import Path

import pytest

from prong.code.snapshots import snapshot
from prong.hook import spool
from prong.model.code import TurnKey
from tests.cli.shell import API, Shell


@pytest.fixture
def code(samples: Shell) -> Path:
    """The folder of the sample sessions, a git repository."""
    folder = samples.home.projects / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "limits.py").write_text("LIMIT = 60\n")
    return folder


def ids(shell: Shell) -> list[str]:
    return [turn["id"] for turn in shell.json("turns", API)["turns"]]


def keep(code: Path, turn_id: str) -> None:
    """As the hook does it."""
    taken = snapshot.take(code, TurnKey("claude", API, turn_id))
    assert taken
    told = {"repo": str(taken.repo), "ref": taken.ref}
    spool.append({"agent": "claude", "session": API, "snapshot": told})


def test_the_last_turn_gets_the_code_as_it_is(samples: Shell, code: Path) -> None:
    made = samples.json("snapshot", API)["snapshot"]
    assert (made["session"], made["turn"]) == (f"claude:{API}", 4)
    show = ["git", "-C", str(code), "show", f"{made['ref']}:limits.py"]
    assert subprocess.run(show, capture_output=True, check=True).stdout == b"LIMIT = 60\n"
    assert [turn["snapshot"] for turn in samples.json("turns", API)["turns"]] == [
        *(None, None, None, made["commit"])
    ]
    assert samples.ok("turns", API).splitlines()[-1].split()[:4] == ["4", "4h", "ago", "~*"]


def test_in_words(samples: Shell, code: Path) -> None:
    said = samples.ok("snapshot", API)
    assert said.startswith(f"claude:{API}@4: ")
    assert said.endswith("in ~/projects/shop\n")


def test_a_turn_that_has_one(samples: Shell, code: Path) -> None:
    keep(code, ids(samples)[-1])  # a hook does not know the number
    said = samples.run("snapshot", API)
    assert said.stdout.startswith(f"claude:{API}@4: ")
    assert said.stderr == "captured before (now); replace it with --again\n"
    assert samples.run("snapshot", API, "--again").stderr == ""


def test_what_each_turn_changed(samples: Shell, code: Path) -> None:
    """Whatever was committed in between."""
    first, second, _, last = ids(samples)
    keep(code, TurnKey.BASELINE)
    (code / "limits.py").write_text("LIMIT = 60\nWINDOW = 1\n")
    keep(code, first)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a", "commit", "--quiet", "-m", "x"]
    subprocess.run(["git", "add", "--all"], cwd=code, check=True)
    subprocess.run(commit, cwd=code, check=True)
    keep(code, second)
    (code / "limits.py").unlink()
    keep(code, last)  # nobody kept the code of the third
    lines = samples.ok("turns", API).splitlines()[2:]
    assert [line[12:19].strip() for line in lines if "--" not in line] == [
        *("~+1 -0", "~=", "", "~*")  # the sample is hours old
    ]
    stats = [turn["diffstat"] for turn in samples.json("turns", API)["turns"]]
    assert stats == [
        {"files": 1, "added": 1, "removed": 0},
        {"files": 0, "added": 0, "removed": 0},
        *(None, None),
    ]


def test_no_git(samples: Shell) -> None:
    (samples.home.projects / "shop").mkdir(parents=True)
    problem = samples.problem(3, "snapshot", API)
    assert "no code captured" in problem["message"]


def test_a_turn_cannot_be_named(samples: Shell, code: Path) -> None:
    assert samples.problem(2, "snapshot", f"{API}@2")["code"] == "usage"
