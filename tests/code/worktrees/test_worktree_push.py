"""A worker's branch pushed by real git: what is pushed, what is refused, and what is said of it."""

import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from prong.code.worktrees import push
from prong.hook.turn_commit import push_ahead
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import UserRepository, git

BRANCH = "prong/parser"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write("a", "a\n")
    repo.commit()
    return repo


@pytest.fixture
def bare(repo: UserRepository, tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


@pytest.fixture
def path(repo: UserRepository, bare: Path, isolated_home: IsolatedHome) -> Path:
    root = isolated_home.root / ".local/share/prong/worktrees"
    return making.create_at(repo.top, "HEAD", root / "w", BRANCH).path


def commit(path: Path, text: str = "changed") -> str:
    """As the agent does."""
    (path / "a").write_text(f"{text}\n")
    git(path, "commit", "--quiet", "--all", "--message", text)
    return git(path, "rev-parse", "HEAD").decode().strip()


def there(bare: Path) -> str:
    return git(bare, "for-each-ref", "--format=%(objectname) %(refname)").decode().strip()


def pushed(path: Path) -> push.Push:
    done = push.push(path, "origin")
    assert done is not None
    return done


def test_it_is_ahead_with_commits_of_its_own_only(path: Path, bare: Path) -> None:
    assert not push.is_ahead(path, "origin")
    first = commit(path)
    assert push.is_ahead(path, "origin")
    assert pushed(path).failure is None
    assert there(bare) == f"{first} refs/heads/{BRANCH}"
    assert not push.is_ahead(path, "origin")
    commit(path, "more")
    git(path, "push", "--quiet", "origin", BRANCH)  # by the agent itself
    assert not push.is_ahead(path, "origin")
    assert push_ahead(path, "origin") is None


def test_a_remote_without_branches_that_are_followed(path: Path, repo: UserRepository) -> None:
    repo.git("config", "--unset-all", "remote.origin.fetch")
    commit(path)
    assert pushed(path).failure is None
    assert not push.is_ahead(path, "origin")


def test_a_remote_that_rejects(path: Path, bare: Path) -> None:
    hook = bare / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'the release is frozen' >&2\nexit 1\n")
    hook.chmod(0o755)
    tip = commit(path)
    assert pushed(path).failure is not None
    reason = push.failure(path, "origin") or ""
    assert "the release is frozen" in reason
    assert "pre-receive hook declined" in reason
    assert push.is_ahead(path, "origin")
    hook.unlink()
    assert pushed(path).commit == tip
    assert push.failure(path, "origin") is None
    assert there(bare) == f"{tip} refs/heads/{BRANCH}"


def test_a_remote_that_is_ahead_is_never_overwritten(
    path: Path, repo: UserRepository, bare: Path
) -> None:
    theirs = repo.git("commit-tree", "-m", "theirs", "HEAD^{tree}").decode().strip()
    repo.git("push", "--quiet", "origin", f"{theirs}:refs/heads/{BRANCH}")
    for config in ("push.default=current", "remote.origin.push=+refs/heads/*:refs/heads/*"):
        repo.git("config", *config.split("=", 1))
    repo.git("update-ref", "-d", f"refs/remotes/origin/{BRANCH}")
    commit(path)
    assert "[rejected]" in (pushed(path).failure or "")
    assert there(bare) == f"{theirs} refs/heads/{BRANCH}"


def test_a_remote_that_is_gone(path: Path, bare: Path) -> None:
    bare.rename(bare.with_name("gone.git"))
    commit(path)
    assert "does not appear to be a git repository" in (pushed(path).failure or "")
    bare.with_name("gone.git").rename(bare)
    assert pushed(path).failure is None


class Asks(BaseHTTPRequestHandler):
    """A server that wants a password for everything."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="code"')
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def asking() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Asks) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_nobody_is_asked_for_a_password(
    path: Path, repo: UserRepository, asking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {asked}\n")
    program.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(program))
    repo.git("config", "core.askPass", str(program))
    repo.git("remote", "set-url", "origin", f"http://ada@{asking}/shop.git")
    commit(path)
    reason = pushed(path).failure or ""
    assert "could not read Password" in reason
    assert "ada@" not in reason
    assert not asked.exists()


def test_a_push_that_never_ends_is_given_up(
    path: Path, repo: UserRepository, tmp_path: Path
) -> None:
    """With what it started, which holds git's output open."""
    os_pid = tmp_path / "pid"
    hook = repo.top / ".git/hooks/pre-push"
    hook.write_text(f"#!/bin/sh\necho $$ > {os_pid}\nexec sleep 3600\n")
    hook.chmod(0o755)
    commit(path)
    done = push.push(path, "origin", patience=2)
    assert done is not None
    assert done.failure == "not done after 2 seconds"
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", os_pid.read_text().strip()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert state.stdout.strip()[:1] in ("", "Z")
