"""A capture that failed or is incomplete shows in `turns`, in the fork plan and in `doctor`."""

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from prong import paths
from prong.session.service import SessionService
from tests.cli.code_lab import git
from tests.cli.shell import Shell
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import START, uuid
from tests.unit.hook.hook_agent import Agent, prompt_id, rewritten

ID = uuid(1)
OID = "0" * 64


@pytest.fixture
def agent(shell: Shell) -> Agent:
    return Agent(shell.home, shell.home.project("shop"))


@pytest.fixture
def sample(agent: Agent) -> ClaudeSample:
    """A session whose first turn has just ended."""
    sample = ClaudeSample(ID, str(agent.project), START)
    sample.prompt("work")
    sample.answer("Done.")
    return sample


def end_turn(agent: Agent, sample: ClaudeSample) -> dict[str, Any]:
    path = rewritten(sample, agent.home)
    return agent.claude("Stop", path, prompt_id=prompt_id(sample))


def gaps(shell: Shell) -> list[list[dict[str, Any]]]:
    return [turn["gaps"] for turn in shell.json("turns", ID)["turns"]]


def warnings(shell: Shell, *words: str) -> str:
    return "\n".join(shell.json("fork", *words, "--dry-run")["plan"]["warnings"])


def findings(shell: Shell) -> list[dict[str, Any]]:
    return [one for one in shell.json("doctor")["findings"] if one["topic"] == "code"]


def limit_files(megabytes: float) -> None:
    file = paths.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[snapshots]\nlimit_mb = {megabytes}\n")


def another_git(agent: Agent, script: str) -> dict[str, str]:
    """An environment whose git is a script, which has git as `$git`."""
    folder = agent.home.root / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\ngit={shutil.which('git')}\n{script}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def foreign(agent: Agent) -> dict[str, str]:
    """An environment in which git takes every repository for somebody else's."""
    return another_git(agent, 'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec $git "$@"')


def test_a_repository_of_somebody_else(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    agent.env = foreign(agent)
    told = end_turn(agent, sample)
    assert told["missing"]
    (gap,) = gaps(shell)[0]
    assert gap["kind"] == "failed"
    assert gap["reason"].startswith("git does not open this repository: fatal: detected dubious")
    listed = shell.ok("turns", ID)
    assert "-- code not captured: git does not open this repository" in listed
    assert " ? " in listed
    assert "the code of the turn was not captured: git does not open" in warnings(shell, ID)
    (finding,) = [one for one in findings(shell) if "not captured" in one["message"]]
    assert finding["message"].startswith(f"{agent.project}: the code of 1 turn was not captured")
    assert finding["hint"] == f"git config --global --add safe.directory {agent.project}"


def test_a_later_capture_makes_up_for_it(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    agent.env = foreign(agent)
    end_turn(agent, sample)
    agent.env = {}
    end_turn(agent, sample)
    assert gaps(shell) == [[]]
    assert not [one for one in findings(shell) if "not captured" in one["message"]]
    assert "not captured" not in warnings(shell, ID)


def test_a_file_over_the_limit(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    limit_files(0.5)
    (agent.project / "dump.sql").write_bytes(b"x" * 1_200_000)
    end_turn(agent, sample)
    size, reason = 1_200_000, "larger than 0.5 MB"
    gap = {"kind": "left_out", "reason": reason, "path": "dump.sql", "size": size}
    assert gaps(shell) == [[gap]]
    assert f"-- code incomplete: dump.sql (1.2 MB): {reason}" in shell.ok("turns", ID)
    assert f"not in the snapshot: dump.sql (1.2 MB): {reason}" in warnings(shell, ID)
    (finding,) = [one for one in findings(shell) if "incomplete" in one["message"]]
    assert "dump.sql (1.2 MB)" in finding["message"]
    assert finding["hint"] == f"prong turns claude:{ID}"


def test_a_part_that_git_could_not_read(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    complaint = "warning: could not open directory 'closed/': Permission denied"
    script = f'case "$*" in *ls-files*) echo "{complaint}" >&2;; esac\nexec $git "$@"'
    agent.env = another_git(agent, script)
    end_turn(agent, sample)
    reason = "git could not look into closed/"
    assert [(gap["kind"], gap["reason"]) for gap in gaps(shell)[0]] == [("partial", reason)]
    listed = shell.ok("turns", ID)
    assert f"-- code incomplete: {reason}" in listed
    assert " ? " in listed
    assert f"the snapshot is not complete: {reason}" in warnings(shell, ID)
    (finding,) = [one for one in findings(shell) if "incomplete" in one["message"]]
    assert reason in finding["message"]


def test_the_same_gap_is_printed_once(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    limit_files(0.5)
    (agent.project / "dump.sql").write_bytes(b"x" * 1_200_000)
    end_turn(agent, sample)
    sample.prompt("more work")
    sample.answer("Done as well.")
    end_turn(agent, sample)
    listed = shell.ok("turns", ID)
    assert listed.count("code incomplete") == 1
    assert listed.count(" ? ") == 2


def test_files_outside_of_the_repository(
    agent: Agent, shell: Shell, sample: ClaudeSample, tmp_path: Path
) -> None:
    """As with `--add-dir`. What the agent keeps in its own folder is no code."""
    other = tmp_path / "library" / "api.py"
    own = agent.home.claude / "plans" / "plan.md"
    inside = agent.project / "shop.py"
    sample.prompt("change the library")
    for path in (other, own, inside):
        sample.tools(("Write", {"file_path": str(path), "content": "text"}, "File created"))
    sample.answer("Changed.")
    end_turn(agent, sample)
    gap = {"kind": "outside", "reason": "outside the repository", "path": str(other), "size": None}
    assert gaps(shell)[1] == [gap]
    assert f"not in the snapshot: {other}: outside the repository" in warnings(shell, ID)
    (finding,) = [one for one in findings(shell) if "outside" in one["message"]]
    assert finding["message"] == (
        f"{agent.project}: 1 turn changed files outside the repository, last of claude:{ID}: "
        f"code incomplete: {other}: outside the repository"
    )
    assert finding["level"] == "note"
    assert finding["hint"] == f"prong turns claude:{ID}"


def test_files_outside_of_the_repository_without_a_session(
    agent: Agent, shell: Shell, sample: ClaudeSample, tmp_path: Path
) -> None:
    """The session is deleted: nothing is known of what its turns wrote."""
    sample.tools(
        ("Write", {"file_path": str(tmp_path / "api.py"), "content": "text"}, "File created")
    )
    end_turn(agent, sample)
    rewritten(sample, agent.home).unlink()
    assert not [one for one in findings(shell) if "outside" in one["message"]]


def test_a_session_that_cannot_be_read(
    agent: Agent, shell: Shell, sample: ClaudeSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a plug-in that fails keep doctor from what it knows otherwise."""
    use_lfs(agent, "logo.png")
    end_turn(agent, sample)

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(SessionService, "conversation", fail)
    assert lfs_findings(shell)


def use_lfs(agent: Agent, *names: str) -> None:
    """Track files of which only the pointers were downloaded."""
    (agent.project / ".gitattributes").write_text("*.png filter=lfs -text\n")
    for name in names:
        (agent.project / name).write_text(pointer())
    git(agent.project, "add", "--all")
    git(agent.project, "commit", "--quiet", "--message", "pictures")


def pointer(oid: str = OID) -> str:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 2500000\n"


def lfs_findings(shell: Shell) -> list[dict[str, Any]]:
    return [one for one in findings(shell) if "LFS" in one["message"]]


def test_lfs_files_that_were_not_downloaded(
    agent: Agent, shell: Shell, sample: ClaudeSample
) -> None:
    use_lfs(agent, "logo.png")
    end_turn(agent, sample)
    reason = "LFS pointer, its content was not downloaded (git lfs pull)"
    gap = {"kind": "left_out", "reason": reason, "path": "logo.png", "size": 2_500_000}
    assert gaps(shell) == [[gap]]
    listed = shell.ok("turns", ID)
    assert f"-- code incomplete: logo.png (2.5 MB): {reason}" in listed
    assert " ? " in listed
    assert warnings(shell, ID).count("not in the snapshot: logo.png (2.5 MB): LFS pointer") == 1
    (finding,) = lfs_findings(shell)
    assert finding["message"] == (
        f"{agent.project}: 1 snapshot without the content of LFS files, last of claude:{ID}: "
        f"code incomplete: logo.png (2.5 MB): {reason}"
    )
    assert finding["level"] == "note"
    assert finding["hint"] == f"git -C {agent.project} lfs pull"


def test_lfs_files_of_each_turn(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    """Each turn has its own: they come, change, are moved and go."""
    use_lfs(agent, "logo.png")
    for prompt, change in (
        ("add", lambda: (agent.project / "map.png").write_text(pointer("1" * 64))),
        ("move", lambda: (agent.project / "map.png").rename(agent.project / "a b\n.png")),
        ("draw", lambda: (agent.project / "logo.png").write_bytes(b"a picture" * 100)),
        ("delete", (agent.project / "a b\n.png").unlink),
        ("no LFS", (agent.project / ".gitattributes").unlink),
    ):
        end_turn(agent, sample)
        change()
        sample.prompt(prompt)
        sample.answer("Done.")
    (agent.project / "logo.png").write_text(pointer())
    end_turn(agent, sample)
    assert [[gap["path"] for gap in turn] for turn in gaps(shell)] == [
        ["logo.png"],
        ["logo.png", "map.png"],
        ["a b\n.png", "logo.png"],
        ["a b\n.png"],
        [],
        [],
    ]
    (finding,) = lfs_findings(shell)
    assert "4 snapshots without the content of LFS files" in finding["message"]


def test_lfs_files_that_come_later(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    use_lfs(agent, "logo.png")
    end_turn(agent, sample)
    content = agent.project / ".git/lfs/objects/00/00" / OID
    content.parent.mkdir(parents=True)
    content.write_bytes(b"x" * 2_500_000)
    assert gaps(shell) == [[]]
    assert not lfs_findings(shell)


def test_many_lfs_files(agent: Agent, shell: Shell, sample: ClaudeSample) -> None:
    """A list of turns does not repeat thousands of names for each of them."""
    use_lfs(agent, *(f"{number:03}.png" for number in range(130)))
    end_turn(agent, sample)
    (turn,) = gaps(shell)
    assert [gap["path"] for gap in turn] == [*(f"{number:03}.png" for number in range(100)), None]
    assert turn[-1]["reason"] == "30 more LFS pointers without content"
    assert "004.png (2.5 MB) and 95 more files: LFS pointer" in shell.ok("turns", ID)
    assert "30 more LFS pointers without content" in shell.ok("turns", ID)


def test_a_snapshot_that_is_gone_from_its_repository(
    agent: Agent, shell: Shell, sample: ClaudeSample
) -> None:
    """It does not hide what the others lack."""
    use_lfs(agent, "logo.png")
    end_turn(agent, sample)
    with sqlite3.connect(paths.state_dir() / "state.db") as connection:
        shell.ok("turns", ID)
        connection.execute(
            "INSERT INTO snapshots SELECT agent, session, 'gone', turn, message_id, repository,"
            " ref, ?, ?, staged_tree, head, branch, taken, changed, degraded, left_out, nested,"
            " late FROM snapshots LIMIT 1",
            ("1" * 40, "2" * 40),
        )
    (finding,) = lfs_findings(shell)
    assert "1 snapshot without the content of LFS files" in finding["message"]
