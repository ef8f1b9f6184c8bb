"""The sizes that git's index has, read from the file itself."""

from pathlib import Path

import pytest

from prong.code.snapshots import sizes
from tests.code.lab import Lab

LONG = "/".join("a folder whose name makes the path a long one" for _ in range(90))


def lying(lab: Lab) -> set[bytes]:
    """The same, from git and from the files."""
    found: set[bytes] = set()
    for line in lab.git("ls-files", "-z", "-s", "-t").split(b"\0")[:-1]:
        about, path = line.split(b"\t")
        tag, mode, blob, stage = about.decode().split()
        if tag == "H" and mode.startswith("100") and stage == "0":
            size = (lab.top / path.decode()).lstat().st_size
            found.add(size.to_bytes(4) + bytes.fromhex(blob))
    return found


def fill(lab: Lab) -> None:
    for number in range(300):
        lab.write(f"src/part{number % 7}/{'n' * (number % 40)}{number}.txt", "x" * number)
    lab.write("program", "#!/bin/sh\n").chmod(0o755)
    (lab.top / "link").symlink_to("program")
    lab.commit()


@pytest.mark.parametrize("version", [2, 4])
def test_each_version_of_the_format(lab: Lab, version: int) -> None:
    lab.git("config", "index.version", str(version))
    fill(lab)
    data = (lab.top / ".git/index").read_bytes()
    assert data[7] == version
    assert sizes.sizes(data, 20) == lying(lab)


def test_marks_make_it_version_3_and_files_out_of_sight_are_left_out(lab: Lab) -> None:
    fill(lab)
    lab.git("update-index", "--skip-worktree", "src/part3/nnn3.txt")
    data = (lab.top / ".git/index").read_bytes()
    assert data[7] == 3
    assert sizes.sizes(data, 20) == lying(lab)


def test_ids_of_another_length(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "work", "--object-format=sha256")
    fill(lab)
    assert sizes.sizes((lab.top / ".git/index").read_bytes(), 32) == lying(lab)


@pytest.mark.parametrize("version", [2, 4])
def test_a_name_longer_than_the_field_for_its_length(lab: Lab, version: int) -> None:
    lab.git("config", "index.version", str(version))
    blob = lab.git("hash-object", "-w", "--stdin", given=b"").decode().strip()
    for name in (f"{LONG}/one", f"{LONG}/two", "z"):
        lab.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    found = sizes.sizes((lab.top / ".git/index").read_bytes(), 20)
    assert found == {bytes(4) + bytes.fromhex(blob)}


def test_entries_in_conflict_are_left_out(lab: Lab) -> None:
    lab.write("a.txt", "one\n")
    lab.commit()
    lab.git("switch", "-q", "-c", "other")
    lab.write("a.txt", "two\n")
    lab.commit()
    lab.git("switch", "-q", "main")
    lab.write("a.txt", "three\n")
    lab.commit()
    lab.git("merge", "other", check=False)
    assert sizes.sizes((lab.top / ".git/index").read_bytes(), 20) == set()


def test_an_index_in_two_files_or_of_another_kind_is_not_read(lab: Lab) -> None:
    lab.git("config", "core.splitIndex", "true")
    fill(lab)
    lab.git("update-index", "--split-index")
    assert sizes.sizes((lab.top / ".git/index").read_bytes(), 20) is None
    assert sizes.sizes(b"DIRC\0\0\0\x09\0\0\0\0", 20) is None
    assert sizes.sizes(b"", 20) is None
