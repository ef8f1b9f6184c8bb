"""Changes to the user's files: all or none, never over somebody else's, exact when taken back."""

import os
from pathlib import Path

import pytest

from prong.errors import ConfigError, Corrupt, Dirty, External
from prong.files import edits
from prong.files.edits import Backups, Edit


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path / "state", "owner")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "settings"
    path.parent.mkdir()
    path.write_bytes(b"before")
    return path


def install(backups: Backups, *changes: Edit) -> None:
    backups.install(changes, [change.before for change in changes])


def test_back_and_forth(backups: Backups, file: Path) -> None:
    file.chmod(0o604)
    install(backups, Edit(file, b"before", b"after"))
    assert file.read_bytes() == b"after"
    assert backups.original(file, b"after", b"stripped") == b"before"
    assert backups.original(file, b"touched", b"stripped") == b"stripped"
    saved = backups.where(file)
    assert saved is not None
    assert saved.read_bytes() == b"before"
    backups.remove([Edit(file, b"after", b"before")])
    assert file.read_bytes() == b"before"
    assert file.stat().st_mode & 0o777 == 0o604
    assert backups.where(file) is None


def test_a_new_file_goes_away_with_its_folders(backups: Backups, tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "settings"
    install(backups, Edit(file, None, b"after"))
    assert file.stat().st_mode & 0o777 == 0o600
    assert backups.original(file, b"after", b"stripped") is None
    backups.remove([Edit(file, b"after", None)])
    assert not (tmp_path / "a").exists()
    install(backups, Edit(file, None, b"after"))
    (tmp_path / "a" / "mine").write_text("")
    backups.remove([Edit(file, b"after", None)])
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["mine"]


def test_what_changed_in_between_is_not_overwritten(backups: Backups, file: Path) -> None:
    file.write_bytes(b"written by the agent")
    with pytest.raises(Dirty, match="nothing was written"):
        install(backups, Edit(file, b"before", b"after"))
    assert file.read_bytes() == b"written by the agent"
    with pytest.raises(Dirty):
        install(backups, Edit(file, None, b"after"))


def test_all_or_none(backups: Backups, file: Path, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file")
    with pytest.raises(External):
        install(
            backups,
            Edit(file, b"before", b"after"),
            Edit(tmp_path / "blocked" / "settings", None, b"new"),
        )
    assert file.read_bytes() == b"before"


def test_half_done_is_undone(
    backups: Backups, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "home" / "other"
    real = Path.replace

    def full_disk(path: Path, target: Path) -> Path:
        if target.name == "other":
            raise OSError(28, "No space left on device", str(target))
        return real(path, target)

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(External, match="No space left"):
        install(backups, Edit(file, b"before", b"after"), Edit(other, None, b"new"))
    assert file.read_bytes() == b"before"
    assert os.listdir(file.parent) == ["settings"]  # noqa: PTH208


def test_what_cannot_be_changed(backups: Backups, file: Path, tmp_path: Path) -> None:
    file.chmod(0o400)
    with pytest.raises(ConfigError, match="is read-only"):
        install(backups, Edit(file, b"before", b"after"))
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Corrupt, match="leads nowhere"):
        install(backups, Edit(link, None, b"after"))
    with pytest.raises(Corrupt, match="is not a file"):
        install(backups, Edit(tmp_path, None, b"after"))
    with pytest.raises(External, match="cannot be read"):
        edits.read(tmp_path)


def test_two_owners_of_one_file(tmp_path: Path, file: Path) -> None:
    one, two = Backups(tmp_path / "state", "one"), Backups(tmp_path / "state", "two")
    install(one, Edit(file, b"before", b"before+1"))
    install(two, Edit(file, b"before+1", b"before+1+2"))
    assert two.original(file, b"before+1+2", None) == b"before+1"
    assert one.original(file, b"before+1+2", b"before+2") == b"before+2"
    two.remove([Edit(file, b"before+1+2", b"before+1")])
    assert one.original(file, b"before+1", None) == b"before"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"after": 1}'])
def test_a_record_that_is_damaged(backups: Backups, file: Path, damage: bytes) -> None:
    install(backups, Edit(file, b"before", b"after"))
    saved = backups.where(file)
    assert saved is not None
    saved.with_suffix(".json").write_bytes(damage)
    assert backups.original(file, b"after", b"stripped") == b"stripped"


def test_a_backup_that_is_damaged(backups: Backups, file: Path) -> None:
    install(backups, Edit(file, b"before", b"after"))
    saved = backups.where(file)
    assert saved is not None
    saved.write_bytes(b"something else")
    assert backups.original(file, b"after", b"stripped") == b"stripped"


def test_the_difference_is_shown() -> None:
    path = Path("/x")
    assert (
        Edit(path, b"a\r\nb\n", b"a\r\nc\n").diff() == "--- /x\n+++ /x\n@@ -1,2 +1,2 @@\n a\n-b\n+c"
    )
    assert Edit(path, None, b"a\n").diff() == "--- /dev/null\n+++ /x\n@@ -0,0 +1 @@\n+a"
    kinds = [Edit(path, *pair).kind for pair in ((None, b""), (b"", None), (b"", b"x"), (b"", b""))]
    assert kinds == ["create", "delete", "change", "none"]
