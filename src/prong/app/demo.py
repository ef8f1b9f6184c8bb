"""A throw-away home with sample sessions and a git repository, to try prong on."""

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prong.agents.claude.sample import ClaudeSample
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.sample import CodexSample
from prong.agents.codex.store import CodexStore

_README = "# Shop\n\nA small web shop, made for `prong demo`.\n"


@dataclass(frozen=True)
class Demo:
    """What was written."""

    home: Path
    repository: Path
    claude: ClaudeStore
    codex: CodexStore
    session: str
    """A session that is worth a look."""
    environment: dict[str, str]
    """What to set to use the commands on it."""


def write(home: Path) -> Demo:
    """Write the samples into an empty folder. Nothing outside of it is touched."""
    repository = home / "shop"
    repository.mkdir(parents=True)
    (repository / "README.md").write_text(_README, encoding="utf-8")
    _make_repository(repository, home)
    claude_root, codex_root = home / ".claude", home / ".codex"
    now = datetime.now(UTC)
    session = _write_claude(claude_root, str(repository), now)
    _write_codex(codex_root, str(repository), now)
    return Demo(
        home=home,
        repository=repository,
        claude=ClaudeStore([claude_root]),
        codex=CodexStore([codex_root]),
        session=session,
        environment={"CLAUDE_CONFIG_DIR": str(claude_root), "CODEX_HOME": str(codex_root)},
    )


def _make_repository(repository: Path, home: Path) -> None:
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost"]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "README.md"],
        [*identity, "commit", "--quiet", "--message=Start"],
    ):
        try:
            subprocess.run(
                ["git", *arguments], cwd=repository, env=environment, check=True, timeout=30
            )
        except (OSError, subprocess.SubprocessError):
            # Sessions can be shown without git; the folder is then no repository.
            return


def _write_claude(root: Path, cwd: str, now: datetime) -> str:
    api = ClaudeSample("60309e1e-8f4b-4b8e-9c55-1f0d2c7a9b01", cwd, now - timedelta(hours=5))
    api.prompt("Add rate limiting to the public API, 60 requests a minute for each key")
    api.tools(
        ("Read", {"file_path": f"{cwd}/shop/api.py"}, "def handle(request): ..."),
        ("Grep", {"pattern": "api_key"}, "shop/keys.py:12: def key_of(request)"),
    )
    api.tools(("Write", {"file_path": f"{cwd}/shop/limit.py"}, "File created"))
    api.tools(("Bash", {"command": "pytest -q tests/test_limit.py"}, "3 passed"))
    api.answer("A token bucket for each key, in `shop/limit.py`. Tests pass.", tokens=21_400)
    api.prompt("Keep the counters in Redis, so that all workers share them")
    api.tools(("Edit", {"file_path": f"{cwd}/shop/limit.py"}, "File updated"))
    api.tools(
        ("Bash", {"command": "pytest -q tests/test_limit.py"}, "Exit code 1\n1 failed, 2 passed"),
        failed=[0],
    )
    shared = api.answer("Done with INCR and EXPIRE. One test needs a running Redis.", tokens=34_900)
    dead_end = api.leaf
    api.prompt("Forget Redis, use the database instead")
    api.tools(("Edit", {"file_path": f"{cwd}/shop/limit.py"}, "File updated"))
    api.interrupt()
    api.leaf = dead_end
    api.prompt("Start a Redis in the tests instead of mocking it")
    api.tools(("Write", {"file_path": f"{cwd}/tests/conftest.py"}, "File created"))
    api.tools(("Bash", {"command": "pytest -q"}, "41 passed"))
    api.answer("A fixture starts Redis on a free port. All 41 tests pass.", tokens=48_300)
    api.compact("Rate limiting by key with Redis, tested against a real server.")
    api.prompt("Document the limit in the README")
    api.tools(("Edit", {"file_path": f"{cwd}/README.md"}, "File updated"))
    api.answer("Added a section with the headers that a client sees.", tokens=9_800)
    api.side("custom-title", customTitle="Rate limiting for the public API")
    api.write(root)

    other = api.branch_off("7d1c44a2-3c1b-4c0e-8f63-6a1e7b0d5c02", shared)
    other.now = now - timedelta(hours=2)
    other.prompt("Try a sliding window instead of the token bucket")
    other.tools(("Edit", {"file_path": f"{cwd}/shop/limit.py"}, "File updated"))
    other.answer("The window is exact, at the price of one sorted set for each key.", tokens=41_000)
    other.side("custom-title", customTitle="Rate limiting with a sliding window")
    other.write(root)

    start = now - timedelta(days=3)
    search = ClaudeSample("b54c2f90-0d0a-4f0e-a1d7-93c5e8f20a03", cwd, start)
    search.prompt("Why is the product search slow for short words?")
    search.tools(("Bash", {"command": "python -m shop.explain 'tea'"}, "Seq Scan on products"))
    search.answer("The index is not used below three letters. A trigram index helps.", tokens=12_700)
    search.write(root)
    return f"claude:{api.id}"


def _write_codex(root: Path, cwd: str, now: datetime) -> None:
    start = now - timedelta(days=1)
    parser = CodexSample("01a1e076-654d-7c10-8a51-5f3f9e1b0d04", cwd, start)
    parser.turn(
        "Write a parser for the suppliers' price lists (CSV, three dialects)",
        "A parser with one dialect table; unknown columns are kept.",
        commands=[("pytest -q tests/test_prices.py", 0)],
        files=[f"{cwd}/shop/prices.py", f"{cwd}/tests/test_prices.py"],
    )
    parser.turn(
        "Handle prices with a comma as the decimal sign",
        "The dialect now says which sign is the decimal one.",
        commands=[("pytest -q tests/test_prices.py", 1), ("pytest -q tests/test_prices.py", 0)],
        files=[f"{cwd}/shop/prices.py"],
    )
    parser.write(root)
    fork = parser.fork("01a1e5b2-90aa-7f21-b3c4-0c9d8e7f6a05", 1)
    fork.turn(
        "Use the csv module's Sniffer instead of a dialect table",
        "It guesses two of the three dialects right; I kept the table for the third.",
        commands=[("pytest -q tests/test_prices.py", 0)],
        files=[f"{cwd}/shop/prices.py"],
    )
    fork.write(root)
