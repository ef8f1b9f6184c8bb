"""The size and shape of the code, which may only improve: see `ratchets.json`.

When a number goes down, write the new one there.
"""

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = sorted((ROOT / "src" / "prong").rglob("*.py"))
LIMITS: dict[str, int] = json.loads(Path(__file__).with_name("ratchets.json").read_bytes())


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines_of_src() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE)


def files_of_src() -> int:
    return len(SOURCE)


def files_in_the_package_root() -> int:
    return sum(path.parent == ROOT / "src" / "prong" for path in SOURCE)


def most_files_in_a_folder() -> int:
    return max(Counter(path.parent for path in SOURCE).values())


def most_files_in_a_folder_of_tests() -> int:
    paths = [path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts]
    return max(Counter(path.parent for path in paths).values())


def public_class_names_used_twice() -> int:
    names = Counter(
        node.name
        for tree in trees().values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sum(count > 1 for count in names.values())


def functions_that_take_app() -> int:
    return sum(
        any(
            argument.arg == "app"
            for argument in (
                *function.args.posonlyargs,
                *function.args.args,
                *function.args.kwonlyargs,
            )
        )
        for tree in trees().values()
        for function in functions(tree)
    )


def local_imports() -> int:
    return sum(
        isinstance(node, ast.Import | ast.ImportFrom)
        for tree in trees().values()
        for function in functions(tree)
        for node in ast.walk(function)
    )


RATCHETS = (
    lines_of_src,
    files_of_src,
    files_in_the_package_root,
    most_files_in_a_folder,
    most_files_in_a_folder_of_tests,
    public_class_names_used_twice,
    functions_that_take_app,
    local_imports,
)


@pytest.mark.parametrize("measure", RATCHETS, ids=lambda measure: measure.__name__)
def test_it_does_not_get_worse(measure: Callable[[], int]) -> None:
    assert measure() <= LIMITS[measure.__name__]


def module_of(path: Path) -> str:
    names = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def test_no_imports_are_circular() -> None:
    """Not even those for type checkers, or in functions."""
    modules = {module_of(path): tree for path, tree in trees().items()}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                graph[module] |= {name if name in modules else node.module for name in names}
    TopologicalSorter(graph).prepare()  # raises CycleError
