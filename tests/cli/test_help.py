"""Help is complete, and costs nothing."""

import subprocess
import sys

import pytest

from prong.cli.main import COMMANDS, SECTIONS, command_named
from tests.cli.shell import Shell

HEAVY = {
    "textual",
    "mcp",
    "starlette",
    "uvicorn",
    "asyncio",
    "msgspec",
    "sqlite3",
    "zstandard",
    "psutil",
    "importlib.metadata",
    "subprocess",
    "tomllib",
    "tantivy",
    "numpy",
    "onnxruntime",
    "tokenizers",
}


def imported(shell: Shell, code: str) -> set[str]:
    """The modules that some code leaves behind, in a process of its own."""
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\nprint('\\n'.join(sys.modules))"
    )
    # -I: neither the environment nor this folder; no coverage, which brings modules of its own.
    result = subprocess.run(
        [sys.executable, "-I", "-c", script],
        env=shell.home.env(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(result.stdout.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        "import prong",
        "import prong.cli; prong.cli.main(['--help'])",
        "import prong.cli; prong.cli.main(['--version'])",
        "import prong.cli; prong.cli.main([])",
        "import prong.cli; prong.cli.main(['list', '--help'])",
        "import prong.cli; prong.cli.main(['lits'])",
    ],
)
def test_nothing_heavy_is_imported(shell: Shell, code: str) -> None:
    before = imported(shell, "pass")
    modules = imported(shell, code) - before
    assert "prong" in modules
    assert not modules & HEAVY
    assert not {name for name in modules if name.startswith(("prong.agents", "prong.storage"))}


def test_importing_prong_imports_little_of_it(shell: Shell) -> None:
    modules = imported(shell, "import prong")
    assert {name for name in modules if name.startswith("prong")} == {"prong"}
    assert "click" not in modules


@pytest.mark.parametrize("name", [None, *COMMANDS])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_every_command(shell: Shell, name: str | None, option: str) -> None:
    text = shell.ok(*([name] if name else []), option)
    assert text.startswith(f"Usage: prong {name or ''}".rstrip())
    assert "Options:" in text


def test_prong_alone_is_help(shell: Shell) -> None:
    assert shell.ok() == shell.ok("--help")


def test_help_needs_no_home(shell: Shell) -> None:
    result = shell.process("--help", env={"PATH": "/usr/bin:/bin"})
    assert result.returncode == 0


def test_commands_stand_in_groups_with_whole_sentences(shell: Shell) -> None:
    text = shell.ok("--help").partition("Search:\n")[2]
    lines = [line.split() for line in text.splitlines() if line.startswith("  ")]
    assert [line[0] for line in lines] == [
        *("find", "ui", "index"),
        *("list", "show", "turns", "diff", "resume", "export"),
        *("fork", "tree", "snapshot", "worktrees"),
        *("run", "ps", "status", "send", "wait", "attach", "log", "key"),
        *("clone", "stop", "restart", "rename", "serve"),
        *("hooks", "mcp", "schedule", "doctor", "demo", "completion"),
    ]
    titles = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert titles == ["Sessions:", "Forks:", "Workers:", "Setup:"]
    assert "..." not in text


def test_a_summary_is_the_first_line_of_the_help() -> None:
    for names in SECTIONS.values():
        for name, (_, summary) in names.items():
            assert command_named(name).get_short_help_str(100) == summary


def test_version(shell: Shell) -> None:
    from prong import __version__

    assert shell.ok("--version") == f"prong {__version__}\n"
    assert shell.ok("-V") == shell.ok("--version")
