"""One commit per turn on the branch of a worktree."""

import os
import time
from pathlib import Path

import pytest

from prong.code.snapshots import snapshot
from prong.code.worktrees import push, worktree
from prong.code.worktrees.commits import commit_turn
from prong.code.worktrees.record import entry_of
from prong.errors import NotFound
from prong.model.code import Snapshot, TurnKey
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import STATUS, UserRepository, files, git

BRANCH = "prong/1a2b"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    for name in ("a", "gone", "folder/file", "program"):
        repo.write(name, f"{name}\n")
    repo.commit()
    return repo


@pytest.fixture
def path(repo: UserRepository, isolated_home: IsolatedHome) -> Path:
    root = isolated_home.root / ".local/share/prong/worktrees"
    return making.create(repo.take(), root / "w", BRANCH).path


def take(path: Path, number: int = 1) -> Snapshot:
    key = TurnKey("claude", "worker", f"turn-{number}")
    taken = snapshot.take(path, key, number=number, message_id="m1")
    assert taken is not None
    return taken


def head(path: Path) -> str:
    return git(path, "rev-parse", "HEAD").decode().strip()


def change(path: Path) -> None:
    (path / "a").write_text("changed\n")
    (path / "gone").unlink()
    (path / "program").chmod(0o755)
    (path / "new\nname").write_text("new\n")
    (path / "staged").write_text("staged\n")
    git(path, "add", "staged")
    # A folder becomes a file.
    (path / "folder/file").unlink()
    (path / "folder").rmdir()
    (path / "folder").symlink_to("a")


def test_a_commit_per_turn(repo: UserRepository, path: Path) -> None:
    repo.git("config", "user.name", "Some <One>")
    repo.git("config", "user.email", "one@example.com")
    base = head(path)
    change(path)
    content, main = files(path), repo.head()
    taken = take(path)
    made = commit_turn(taken, "\n\x1b[31mAdd\tthe parser \n and more")
    assert made.reason is None
    assert made.commit == head(path)
    assert git(path, *STATUS) == b""
    assert files(path) == content
    assert git(path, "rev-parse", "HEAD^").decode().strip() == base
    shown = git(path, "log", "-1", "--format=%an <%ae>%n%B").decode().splitlines()
    assert shown == [
        "Some One <one@example.com>",
        "Turn 1: [31mAdd the parser",
        "",
        "Prong-Session: claude:worker",
        "Prong-Turn: 1",
        "Prong-Turn-Id: turn-1",
        "Prong-Message-Id: m1",
        f"Prong-Snapshot: {taken.commit}",
        "",
    ]
    trailers = git(path, "log", "-1", "--format=%(trailers:key=Prong-Turn,valueonly)")
    assert trailers.strip() == b"1"
    git(path, "fsck", "--strict")
    assert repo.head() == main
    assert repo.git(*STATUS) == b""
    (path / "a").write_text("second\n")
    second = commit_turn(take(path, 2), "two")
    assert git(path, "rev-parse", "HEAD^").decode().strip() == made.commit
    assert second.commit == head(path)
    listed = git(path, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]
    assert len(listed) == 5
    # All is on the branch: nothing would be lost.
    assert making.remove(worktree.listed(path.parent)[0]) == BRANCH


def test_no_person_is_known(path: Path) -> None:
    (path / "a").write_text("changed\n")
    commit_turn(take(path), "")
    shown = git(path, "log", "-1", "--format=%an <%ae> %s").decode().strip()
    assert shown == "prong <prong@localhost> Turn 1"


def test_a_long_prompt(path: Path) -> None:
    (path / "a").write_text("changed\n")
    commit_turn(take(path), "wörd " * 1000)
    title = git(path, "log", "-1", "--format=%s").decode().strip()
    assert len(title) <= 72
    assert title.endswith("...")


def test_nothing_changed(path: Path) -> None:
    before = head(path)
    made = commit_turn(take(path), "look")
    assert (made.commit, made.reason) == (None, "nothing changed")
    assert head(path) == before


def test_the_agent_committed_itself(path: Path) -> None:
    (path / "a").write_text("committed\n")
    git(path, "commit", "--quiet", "-am", "by the agent")
    (path / "b").write_text("left\n")
    before = head(path)
    made = commit_turn(take(path), "x")
    assert made.commit == head(path)
    assert git(path, "rev-parse", "HEAD^").decode().strip() == before


def test_only_what_the_snapshot_saw(path: Path) -> None:
    (path / "a").write_text("in the turn\n")
    (path / "program").chmod(0o755)
    taken = take(path)
    (path / "later").write_text("later\n")
    (path / "a").write_text("half done\n")
    (path / "program").unlink()
    commit_turn(taken, "x", number=7)
    assert git(path, "show", "HEAD:a") == b"in the turn\n"
    assert git(path, "ls-tree", "HEAD", "program").startswith(b"100755 ")
    assert git(path, "status", "--porcelain") == b" M a\n D program\n?? later\n"
    assert git(path, "log", "-1", "--format=%s") == b"Turn 7: x\n"
    assert not list(entry_of(path).glob("prong-commit-*"))


@pytest.mark.parametrize("kind", ["merge", "rebase", "detached", "other branch"])
def test_in_the_middle_of_something(path: Path, kind: str) -> None:
    git(path, "switch", "--quiet", "-c", "side")
    (path / "a").write_text("side\n")
    git(path, "commit", "--quiet", "-am", "side")
    git(path, "switch", "--quiet", BRANCH)
    (path / "a").write_text("ours\n")
    git(path, "commit", "--quiet", "-am", "ours")
    if kind in {"merge", "rebase"}:
        with pytest.raises(AssertionError):
            git(path, kind, "side")
    elif kind == "detached":
        git(path, "checkout", "--quiet", "--detach")
    else:
        git(path, "switch", "--quiet", "side")
    (path / "new").write_text("new\n")
    before, status = head(path), git(path, *STATUS)
    made = commit_turn(take(path), "x")
    assert made.commit is None
    assert made.reason
    assert head(path) == before
    assert git(path, *STATUS) == status


def test_somebody_committed_meanwhile(
    path: Path, repo: UserRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path / "a").write_text("ours\n")
    taken = take(path)
    real = repo.git("--exec-path").decode().strip() + "/git"
    script = repo.write(
        "../bin/git",
        f'#!/bin/sh\ncase "$*" in *"update-ref -z"*) {real} -c user.name=x -c user.email=x@y '
        f'commit -q --allow-empty -m theirs ;; esac\nexec {real} "$@"\n',
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    made = commit_turn(taken, "x")
    assert made.commit is None
    assert git(path, "log", "-1", "--format=%s").strip() == b"theirs"
    assert b" .M " in git(path, *STATUS)


def test_the_index_is_locked(path: Path) -> None:
    (path / "a").write_text("ours\n")
    taken = take(path)
    (entry_of(path) / "index.lock").touch()
    made = commit_turn(taken, "x")
    assert made.commit == head(path)
    assert made.reason
    assert (entry_of(path) / "index.lock").exists()


def test_through_the_filters_of_the_user(path: Path) -> None:
    (path / ".gitattributes").write_text("*.txt text eol=crlf\n*.up filter=up\n*.no filter=no\n")
    git(path, "config", "filter.up.clean", "tr a-z A-Z")
    (path / "t.txt").write_bytes(b"one\r\n")
    (path / "t.up").write_bytes(b"up\n")
    made = commit_turn(take(path), "x")
    assert made.reason is None
    assert git(path, "show", "HEAD:t.txt") == b"one\n"
    assert git(path, "show", "HEAD:t.up") == b"UP\n"
    assert (path / "t.txt").read_bytes() == b"one\r\n"
    assert git(path, *STATUS) == b""
    git(path, "config", "filter.no.clean", "no-such-program")
    git(path, "config", "filter.no.required", "true")
    (path / "t.no").write_bytes(b"no\n")
    before = head(path)
    made = commit_turn(take(path, 2), "x")
    assert made.commit is None
    assert head(path) == before


def test_hidden_edits_stay_private(path: Path) -> None:
    git(path, "update-index", "--skip-worktree", "a")
    git(path, "update-index", "--assume-unchanged", "gone")
    (path / "a").write_text("private\n")
    (path / "gone").write_text("private\n")
    (path / "b").write_text("public\n")
    assert commit_turn(take(path), "x").commit
    assert git(path, "show", "HEAD:a") == b"a\n"
    assert git(path, "show", "HEAD:gone") == b"gone\n"
    assert git(path, "show", "HEAD:b") == b"public\n"
    assert git(path, *STATUS) == b""


def test_the_first_commit(isolated_home: IsolatedHome) -> None:
    empty = UserRepository(isolated_home.root / "empty")
    empty.write("a")
    root = isolated_home.root / ".local/share/prong/worktrees"
    made = making.create(empty.take(), root / "w", BRANCH)
    assert commit_turn(take(made.path), "x").commit == head(made.path)
    assert git(made.path, *STATUS) == b""
    assert empty.branches() == [BRANCH]


def test_a_repository_inside(path: Path) -> None:
    inner = UserRepository(path / "inner")
    inner.write("x")
    inner.commit()
    (path / "a").write_text("changed\n")
    assert commit_turn(take(path), "x").commit
    assert b"inner" not in git(path, "ls-tree", "-r", "HEAD")


def test_not_in_a_worktree_of_the_user(repo: UserRepository) -> None:
    repo.write("a", "changed\n")
    with pytest.raises(NotFound):
        commit_turn(repo.take("t2"), "x")


def wait_for_push(path: Path, commit: str) -> push.Push:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = push.last(path)
        if found is not None and found.commit == commit:
            return found
        time.sleep(0.02)
    raise AssertionError("no push within 30 seconds")


def test_push(path: Path, repo: UserRepository, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    repo.git("remote", "add", "backup", str(tmp_path / "remote.git"))
    (path / "a").write_text("changed\n")
    commit = commit_turn(take(path), "x").commit
    assert commit is not None
    push.start(path, "backup")
    assert wait_for_push(path, commit).failure is None
    refs = git(tmp_path / "remote.git", "for-each-ref", "--format=%(objectname) %(refname)")
    assert refs.decode().splitlines() == [f"{commit} refs/heads/{BRANCH}"]
    (tmp_path / "remote.git").rename(tmp_path / "gone.git")
    (path / "a").write_text("changed again\n")
    second = commit_turn(take(path, 2), "x").commit
    assert second is not None
    push.start(path, "backup")
    assert wait_for_push(path, second).failure
    # The next turn's push takes it along.
    (tmp_path / "gone.git").rename(tmp_path / "remote.git")
    done = push.push(path, "backup")
    assert done is not None
    assert done == push.last(path)
    assert (done.commit, done.failure) == (second, None)
    for remote in ("none", "--mirror", str(tmp_path / "remote.git")):
        with pytest.raises(NotFound):
            push.start(path, remote)


def test_a_push_that_the_user_forbids(
    path: Path, repo: UserRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    repo.git("remote", "add", "backup", str(tmp_path / "remote.git"))
    hook = repo.top / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\necho not here >&2\nexit 1\n")
    hook.chmod(0o755)
    # What git sets for its own hooks would send it to another repository.
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "remote.git"))
    done = push.push(path, "backup")
    assert done is not None
    assert "not here" in (done.failure or "")
    hook.unlink()
    assert push.push(path, "backup") == push.last(path)
    monkeypatch.delenv("GIT_DIR")
    assert git(tmp_path / "remote.git", "for-each-ref").count(b"\n") == 1
