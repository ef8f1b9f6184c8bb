"""The names that `import prong` promises."""

import subprocess
import sys
from pathlib import Path

import pytest

import prong


@pytest.mark.parametrize("name", prong.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(prong, name) is not None


@pytest.mark.parametrize("name", prong.__all__)
def test_no_package_takes_the_place_of_a_public_name(name: str) -> None:
    # Python sets a package as an attribute of its parent when it is imported.
    assert not (Path(prong.__file__).parent / name).exists()


def test_public_names_are_sorted_and_complete() -> None:
    assert list(prong.__all__) == sorted(prong.__all__)
    assert {"App", "Session", "SessionRef", "Turn", "ProngError"} <= set(prong.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = prong.nonsense


def test_a_star_import_works() -> None:
    names: dict[str, object] = {}
    exec("from prong import *", names)  # noqa: S102
    assert set(prong.__all__) <= set(names)


def test_the_package_is_typed() -> None:
    assert (Path(prong.__file__).parent / "py.typed").is_file()


def test_app_is_usable_in_two_lines(isolated_home: object) -> None:
    code = "import prong\nprint(prong.App().sessions.all())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
