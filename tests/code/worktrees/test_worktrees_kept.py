"""Work that git does not tell of: hidden files, ignored repositories, code that is only here."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from prong.code.ignored import IgnoredFiles
from prong.code.snapshots import snapshot
from prong.code.worktrees import make, record, worktree
from prong.code.worktrees.journal import Undo, leftovers, sweep
from prong.code.worktrees.record import Worktree
from prong.code.worktrees.refs import snapshot_for
from prong.code.worktrees.work import WorktreeWork, work_in
from prong.errors import Dirty
from prong.model.code import Snapshot, TurnKey
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import UserRepository, git

BRANCH = "prong/1a2b"
LOG = ("for-each-ref", "--format=%(refname)", "refs/prong/")


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write(".gitignore", "cache/\n")
    repo.write("a", "a\n")
    repo.write("hidden", "hidden\n")
    repo.commit()
    repo.write("new", "new\n")
    return repo


def assert_stays(made: Worktree) -> None:
    with pytest.raises(Dirty):
        making.remove(made)
    assert made.path.exists()


class TestInASnapshot:
    """The newest one of the session that the worktree was made for."""

    @pytest.fixture(params=["sha1", "sha256"])
    def made(self, isolated_home: IsolatedHome, root: Path, request: pytest.FixtureRequest) -> Path:
        top = isolated_home.root / "code" / request.param
        repo = UserRepository(top, f"--object-format={request.param}")
        for name in ("edited", "deleted", "program", "staged", "as it was"):
            repo.write(name, "one\n")
        repo.commit()
        repo.write("given", "given\n")
        made = making.create(repo.take(), root / "w", BRANCH)
        worktree.belongs_to(made, "claude:own")
        (made.path / "edited").write_text("two\n")
        (made.path / "deleted").unlink()
        (made.path / "program").chmod(0o755)
        (made.path / "staged").write_text("two\n")
        git(made.path, "add", "staged")
        (made.path / "link").symlink_to("nowhere")
        (made.path / "line\nbreak \udcff").write_text("new\n")
        (made.path / "given").write_text("work\n")
        return made.path

    def work(self, path: Path) -> WorktreeWork:
        return work_in(record.read(path))

    def take(self, path: Path, turn: str = "t1") -> Snapshot:
        taken = snapshot.take(path, TurnKey("claude", "own", turn))
        assert taken
        return taken

    def test_all_of_it(self, made: Path) -> None:
        before = self.work(made)
        assert len(before.files) == 7
        snapshot.take(made, TurnKey("claude", "another", "t1"))
        assert self.work(made) == before
        taken = self.take(made)
        assert self.work(made) == WorktreeWork(in_snapshot=before.files)
        git(made, "update-ref", "-d", taken.ref)
        assert self.work(made) == before

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("echo three > edited", "edited"),
            ("echo new > deleted", "deleted"),
            ("chmod -x edited; chmod +x staged", "staged"),
            ("ln -sf elsewhere link", "link"),
            ("rm link; printf nowhere > link", "link"),
            ("git add edited", "edited"),
            ("git reset --quiet staged", "staged"),
            ("echo three > as\\ it\\ was", "as it was"),
            ("rm as\\ it\\ was", "as it was"),
            ("git init --quiet inner", "inner"),
        ],
    )
    def test_what_came_later(self, made: Path, kind: str, name: str) -> None:
        self.take(made)
        subprocess.run(["sh", "-c", kind], cwd=made, check=True)
        assert self.work(made).files == (name,)

    def test_only_the_newest(self, made: Path) -> None:
        self.take(made)
        (made / "edited").write_text("three\n")
        self.take(made, "t2")
        assert self.work(made).files == ()
        (made / "edited").write_text("two\n")
        assert self.work(made).files == ("edited",)

    def test_in_a_conflict(self, made: Path) -> None:
        before = self.work(made)
        blob = git(made, "rev-parse", "HEAD:staged").decode().strip()
        line = f"100644 {blob} 1\tstaged\n".encode()
        git(
            made,
            "update-index",
            "--index-info",
            stdin=b"0 " + b"0" * len(blob) + b"\tstaged\n" + line,
        )
        self.take(made)
        assert set(self.work(made).files) == set(before.files)

    def test_in_a_repository_inside(self, repo: UserRepository, root: Path) -> None:
        inner = UserRepository(repo.top / "inner")
        inner.write("file", "one\n")
        inner.commit()
        made = making.create(repo.take(), root / "w", BRANCH)
        worktree.belongs_to(made, "claude:own")
        (made.path / "inner/file").write_text("two\n")
        assert self.work(made.path).files == ("inner/file",)
        self.take(made.path)
        assert self.work(made.path) == WorktreeWork(in_snapshot=("inner/file",))
        making.remove(made)
        assert b"refs/prong/claude/own/" in inner.git(*LOG)


class TestDeletedSnapshots:
    def test_what_was_given_is_only_here(self, repo: UserRepository, root: Path) -> None:
        taken = repo.take()
        made = making.create(taken, root / "w", BRANCH)
        assert work_in(made) == WorktreeWork()
        repo.git("update-ref", "-d", taken.ref)
        assert work_in(made).files == ("new",)
        assert_stays(made)
        # Another one of that name has something else.
        repo.write("new", "other\n")
        assert repo.take().ref == taken.ref
        assert_stays(made)

    def test_in_a_repository_inside(self, repo: UserRepository, root: Path) -> None:
        inner = UserRepository(repo.top / "inner")
        inner.write("x", "x\n")
        inner.commit()
        inner.write("y", "y\n")
        made = making.create(repo.take(), root / "w", BRANCH)
        assert work_in(made) == WorktreeWork()
        for ref in inner.git(*LOG).decode().split():
            inner.git("update-ref", "-d", ref)
        assert work_in(made).files == ("inner/y",)

    def test_a_later_one_leads_to_it(self, repo: UserRepository, root: Path) -> None:
        first = repo.take("t1")
        made = making.create(first, root / "w", BRANCH)
        repo.write("new", "edited\n")
        repo.take("t2")
        repo.git("update-ref", "-d", first.ref)
        assert work_in(made) == WorktreeWork()


class TestHiddenFiles:
    """Those that git was told not to look at in the source: here it does not either."""

    MARKS = ("--skip-worktree", "--assume-unchanged")

    @pytest.mark.parametrize("mark", MARKS)
    def test_an_edit_is_work(self, repo: UserRepository, root: Path, mark: str) -> None:
        repo.git("update-index", mark, "hidden")
        made = making.create(repo.take(), root / "w", BRANCH)
        index = git(made.path, "ls-files", "-v")
        assert work_in(made) == WorktreeWork()
        (made.path / "hidden").write_text("work\n")
        assert work_in(made).files == ("hidden",)
        assert_stays(made)
        assert git(made.path, "ls-files", "-v") == index

    @pytest.mark.parametrize("mark", MARKS)
    def test_as_it_was_given(self, repo: UserRepository, root: Path, mark: str) -> None:
        repo.git("update-index", mark, "hidden")
        repo.write("hidden", "mine\n")
        made = making.create(repo.take(), root / "w", BRANCH)
        assert (made.path / "hidden").read_text() == "mine\n"
        assert work_in(made) == WorktreeWork()
        (made.path / "hidden").write_text("work\n")
        assert work_in(made).files == ("hidden",)

    def test_hidden_later(self, repo: UserRepository, root: Path) -> None:
        made = making.create_at(repo.top, "HEAD", root / "w", BRANCH)
        git(made.path, "update-index", "--skip-worktree", "hidden", "a")
        assert work_in(made) == WorktreeWork()
        (made.path / "hidden").write_text("work\n")
        assert work_in(made).files == ("hidden",)

    def test_left_out_by_a_sparse_checkout(self, repo: UserRepository, root: Path) -> None:
        repo.write("far/file", "far\n")
        repo.commit()
        repo.git("sparse-checkout", "set", "--cone", "near")
        made = making.create(repo.take(), root / "w", BRANCH)
        assert not (made.path / "far").exists()
        assert work_in(made) == WorktreeWork()


class TestIgnoredRepositories:
    @pytest.fixture
    def made(self, repo: UserRepository, root: Path) -> Worktree:
        return making.create(repo.take(), root / "w", BRANCH)

    def test_commits(self, made: Worktree) -> None:
        inner = UserRepository(made.path / "cache" / "deep" / "tool")
        assert work_in(made) == WorktreeWork()
        inner.write("file")
        inner.commit()
        assert work_in(made).files == ("cache/deep/tool",)
        assert_stays(made)

    def test_changes(self, made: Worktree) -> None:
        UserRepository(made.path / "cache").write("file")
        assert work_in(made).files == ("cache",)

    def test_a_stash(self, made: Worktree, repo: UserRepository) -> None:
        git(made.path, "clone", "--quiet", str(repo.top), "cache/clone")
        (made.path / "cache/clone/a").write_text("work\n")
        git(made.path / "cache/clone", "stash", "--quiet")
        assert work_in(made).files == ("cache/clone",)

    def test_a_clone_is_no_work(self, made: Worktree, repo: UserRepository) -> None:
        repo.git("tag", "v1")
        clone = made.path / "cache" / "clone"
        git(made.path, "clone", "--quiet", str(repo.top), str(clone))
        git(clone, "checkout", "--quiet", "v1")
        assert work_in(made) == WorktreeWork()
        (clone / "a").write_text("work\n")
        assert work_in(made).files == ("cache/clone",)
        git(clone, "commit", "--quiet", "--all", "--message", "work")
        assert work_in(made).files == ("cache/clone",)

    def test_a_worktree(self, made: Worktree, repo: UserRepository) -> None:
        """Claude Code makes such ones. Their commits are in the repository."""
        there = made.path / "cache" / "tree"
        git(made.path, "worktree", "add", "--quiet", "-b", "feature", str(there))
        (there / "a").write_text("work\n")
        assert work_in(made).files == ("cache/tree",)
        git(there, "commit", "--quiet", "--all", "--message", "work")
        assert work_in(made) == WorktreeWork()
        git(there, "checkout", "--quiet", "--detach")
        git(there, "commit", "--quiet", "--allow-empty", "--message", "work")
        assert work_in(made).files == ("cache/tree",)

    def test_one_that_was_brought_along(self, repo: UserRepository, root: Path) -> None:
        tool = UserRepository(repo.top / "cache" / "tool")
        tool.write("file")
        tool.commit()
        tool.write("file", "edited\n")
        wanted = IgnoredFiles(copy=("cache/",))
        made = making.create(repo.take(), root / "w", BRANCH, ignored=wanted)
        assert (made.path / "cache/tool/file").read_text() == "edited\n"
        assert work_in(made) == WorktreeWork()
        (made.path / "cache/tool/file").write_text("work\n")
        assert work_in(made).files == ("cache/tool",)
        git(made.path / "cache/tool", "commit", "--quiet", "--all", "--message", "work")
        assert work_in(made).files == ("cache/tool",)

    def test_what_is_none(self, made: Worktree, repo: UserRepository) -> None:
        (made.path / "cache/empty/.git").mkdir(parents=True)
        (made.path / "cache/lost").mkdir()
        (made.path / "cache/lost/.git").write_text("gitdir: ../../nowhere\n")
        (made.path / "cache/odd").mkdir()
        (made.path / "cache/odd/.git").write_text("odd\n")
        (made.path / "cache/link").symlink_to(repo.top)
        assert work_in(made) == WorktreeWork()

    def test_one_that_git_cannot_open(self, made: Worktree) -> None:
        inner = UserRepository(made.path / "cache" / "tool")
        (inner.top / ".git/index").write_text("damaged")
        assert work_in(made).files == ("cache/tool",)

    def test_ignored_files_are_no_work(self, made: Worktree) -> None:
        (made.path / "cache").mkdir()
        (made.path / "cache" / "data").touch()
        assert making.remove(made) is None


class TestOwnSnapshot:
    """`--code now` takes one for the worktree alone."""

    @staticmethod
    def take(repo: UserRepository) -> Snapshot:
        taken = snapshot.take(repo.top, snapshot_for("w"))
        assert taken is not None
        return taken

    def test_goes_when_all_is_committed(self, repo: UserRepository, root: Path) -> None:
        repo.commit()
        made = making.create(self.take(repo), root / "w", BRANCH)
        making.remove(made)
        assert repo.git(*LOG) == b""

    def test_goes_when_a_turn_has_the_same(self, repo: UserRepository, root: Path) -> None:
        made = making.create(self.take(repo), root / "w", BRANCH)
        turn = repo.take()
        making.remove(made)
        assert repo.git(*LOG).decode().split() == [turn.ref]

    def test_stays_when_nothing_else_has_it(self, repo: UserRepository, root: Path) -> None:
        taken = self.take(repo)
        made = making.create(taken, root / "w", BRANCH)
        repo.write("new", "edited\n")
        repo.take()
        making.remove(made)
        assert taken.ref in repo.git(*LOG).decode().split()

    def test_goes_by_force(self, repo: UserRepository, root: Path) -> None:
        inner = UserRepository(repo.top / "inner")
        inner.write("x")
        made = making.create(self.take(repo), root / "w", BRANCH)
        assert inner.git(*LOG) != b""
        making.remove(made, force=True)
        assert repo.git(*LOG) == b""
        assert inner.git(*LOG) == b""

    def test_that_of_a_turn_stays(self, repo: UserRepository, root: Path) -> None:
        taken = repo.take()
        making.remove(making.create(taken, root / "w", BRANCH), force=True)
        assert repo.git(*LOG).decode().split() == [taken.ref]


def edit(path: Path) -> None:
    (path / "a").write_text("work\n")


def commit(path: Path) -> None:
    git(path, "commit", "--quiet", "--allow-empty", "--message", "work")


def lock(path: Path) -> None:
    git(path, "worktree", "lock", str(path))


class TestKilledBeforeTheLastWord:
    """The worktree is whole, but whoever made it was killed before it could say so."""

    @pytest.fixture
    def made(self, repo: UserRepository, root: Path) -> Path:
        taken = repo.take()
        pid = os.fork()
        if pid == 0:
            try:
                with Undo(root) as undo:
                    make.create(undo, taken, root / "w", BRANCH)
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert leftovers(root)
        return root / "w"

    def test_it_goes(self, repo: UserRepository, root: Path, made: Path) -> None:
        assert sweep(root) == ([made], [])
        assert not made.exists()
        assert repo.branches() == ["main"]

    @pytest.mark.parametrize("act", [edit, commit, lock])
    def test_somebody_works_in_it(
        self, repo: UserRepository, root: Path, made: Path, act: Callable[[Path], None]
    ) -> None:
        act(made)
        assert sweep(root) == ([], [made])
        assert leftovers(root) == []
        assert [each.path for each in worktree.listed(root)] == [made]
        assert sweep(root) == ([], [])
        assert repo.branches() == ["main", BRANCH]

    def test_nobody_can_tell(self, repo: UserRepository, root: Path, made: Path) -> None:
        repo.top.rename(repo.top.with_name("moved"))
        assert sweep(root) == ([], [made])
        assert made.exists()

    def test_a_session_has_it(self, root: Path, made: Path) -> None:
        edit(made)
        assert sweep(root, lambda path: path == made) == ([], [])
        assert made.exists()
