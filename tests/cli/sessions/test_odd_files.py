"""Pipes and devices for files, lines without an end, archives that are bombs, little memory."""

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from prong.code.worktrees.record import common_of, place_of
from tests.cli.code_lab import CodeLab
from tests.cli.shell import API, Shell, prong

MB = 1 << 20
LIST = ("list", "--all", "--json")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


@pytest.fixture(params=[pipe, bound, device, folder], ids=lambda make: make.__name__)
def odd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    make: Callable[[Path], None] = request.param

    def made(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        # The name of a socket must be a short one.
        monkeypatch.chdir(path.parent)
        make(Path(path.name))

    return made


def ids(shell: Shell) -> set[str]:
    return {one["id"] for one in json.loads(shell.process(*LIST).stdout)["sessions"]}


class TestNoFile:
    """Each command runs in a process that a pipe would keep until the time is over."""

    def test_beside_the_sessions(self, samples: Shell, odd: Callable[[Path], None]) -> None:
        before = ids(samples)
        home = samples.home
        project = next((home.claude / "projects").iterdir())
        session = next(project.glob(f"{API}.jsonl"))
        odd(project / "00000000-0000-4000-8000-000000000000.jsonl")
        odd(session.with_suffix("") / "subagents/agent-a1.jsonl")
        odd(session.with_suffix("") / "subagents/agent-a1.meta.json")
        odd(session.with_suffix("") / "tool-results/x.txt")
        odd(project / "sessions-index.json")
        odd(home.claude / "sessions/1.json")
        odd(home.claude / "history.jsonl")
        day = home.codex / "sessions/2026/11/01"
        name = "rollout-2026-11-01T00-00-00-01a1e076-654d-7c10-8a51-5f3f9e1b0d99.jsonl"
        odd(day / name)
        odd(day / f"{name.replace('d99', 'd98')}.zst")
        odd(home.codex / "session_index.jsonl")
        assert ids(samples) == before
        for words in (["find", "redis"], ["show", API], ["turns", API], ["tree", "--all"]):
            assert samples.process(*words).returncode == 0
        assert samples.process("doctor").returncode in {0, 1}

    def test_as_settings(self, samples: Shell, odd: Callable[[Path], None]) -> None:
        home = samples.home
        for path in (
            home.claude / "settings.json",
            home.codex / "hooks.json",
            home.codex / "config.toml",
        ):
            odd(path)
        assert ids(samples)
        for words in (["hooks", "status"], ["doctor"], ["fork", API, "--dry-run"]):
            done = samples.process(*words)
            assert b"Traceback" not in done.stderr
        done = samples.process("hooks", "status")
        assert b"settings.json" in done.stdout + done.stderr

    def test_as_our_own_files(self, samples: Shell, odd: Callable[[Path], None]) -> None:
        home = samples.home.root
        odd(home / ".config/prong/config.toml")
        done = samples.process(*LIST)
        assert done.returncode == 2
        assert b"config.toml" in done.stderr
        (home / ".config/prong/config.toml").rename(home / "aside")
        odd(home / ".local/share/prong/spool/events.jsonl")
        odd(home / ".local/state/prong/last-search.json")
        assert ids(samples)
        assert samples.process("find", "redis").returncode == 0

    def test_as_the_memory_of_what_programs_can(
        self, samples: Shell, odd: Callable[[Path], None]
    ) -> None:
        """A dry run asks which options the agent has."""
        memory = samples.home.root / ".cache/prong/programs.json"
        odd(memory)
        for words in (["run", "x", "--headless", "--dry-run"], ["fork", API, "--dry-run"]):
            done = samples.process(*words)
            assert b"Traceback" not in done.stderr

    def test_in_a_repository(self, shop: Shell, odd: Callable[[Path], None]) -> None:
        """What prong itself reads there; git waits for a pipe until its time is over."""
        code = CodeLab.make(shop)
        inner = code.folder / "inner"
        inner.mkdir()
        odd(inner / ".git")
        for words in (["worktrees"], ["fork", API, "--dry-run"], ["turns", API]):
            assert shop.process(*words, cwd=inner).returncode == 0
        common = code.folder / ".git"
        for name in ("packed-refs", "worktrees/x/gitdir", "worktrees/x/commondir"):
            odd(common / name)
        assert place_of(common / "worktrees/x") is None
        assert common_of(code.folder) == common

    def test_for_the_hook(self, samples: Shell, odd: Callable[[Path], None]) -> None:
        transcript = samples.home.root / "transcript.jsonl"
        odd(transcript)
        told = {"session_id": API, "transcript_path": str(transcript), "cwd": "/"}
        done = subprocess.run(
            [sys.executable, "-m", "prong.hook", "claude"],
            input=json.dumps({**told, "hook_event_name": "Stop"}).encode(),
            env=samples.env(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


def peak(shell: Shell, *words: str) -> tuple[bytes, int]:
    """What a command prints, and how many bytes of memory it had at most."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
        "sys.stdout.buffer.write(done.stdout)\n"
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *prong(*words)],
        env=shell.env(),
        capture_output=True,
        check=True,
    )
    return done.stdout, int(done.stderr) * 1024


class TestSize:
    def test_an_archive_that_unpacks_to_gigabytes(self, samples: Shell) -> None:
        _, usual = peak(samples, *LIST)
        day = samples.home.codex / "sessions/2026/11/01"
        day.mkdir(parents=True)
        thread = "01a1e076-654d-7c10-8a51-5f3f9e1b0d99"
        bomb = day / f"rollout-2026-11-01T00-00-00-{thread}.jsonl.zst"
        with bomb.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
            for _ in range(1500):
                packed.write(b"\0" * MB)
        assert bomb.stat().st_size < MB
        stdout, most = peak(samples, *LIST)
        assert most < usual + 300 * MB
        skipped = json.loads(stdout)["skipped"]
        assert [one["reason"] for one in skipped if one["path"] == str(bomb)] == [
            "unpacks to more than 64 MiB"
        ]

    def test_a_line_without_an_end(self, samples: Shell) -> None:
        """It is passed over, and what stands behind it is read."""
        _, usual = peak(samples, "turns", API)
        path = next(samples.home.claude.glob(f"projects/*/{API}.jsonl"))
        lines = path.read_bytes()
        with path.open("wb") as file:
            file.write(b'{"type":"')
            file.seek(1 << 30, os.SEEK_CUR)  # a gigabyte of zeros that takes no room
            file.write(b'"}\n' + lines)
        stdout, most = peak(samples, "turns", API, "--json")
        found = json.loads(stdout)
        assert len(found["turns"]) > 3
        assert most < usual + 500 * MB
        assert any("longer than 128 MiB" in one["reason"] for one in found["skipped"])

    def test_a_session_with_large_pictures_is_read(self, samples: Shell) -> None:
        sample = samples.session(7)
        sample.prompt("look at this")
        sample.answer("x" * (40 * MB))
        sample.prompt("and this")
        sample.answer("Done.")
        sample.write(samples.home.claude)
        assert len(samples.json("turns", sample.id)["turns"]) == 2


def test_too_little_memory_is_said(samples: Shell) -> None:
    sample = samples.session(7)
    sample.prompt("x" * (60 * MB))
    sample.answer("Done.")
    sample.write(samples.home.claude)
    done = subprocess.run(
        prong("turns", sample.id, "--json"),
        env=samples.env(),
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 * MB, 200 * MB)),
    )
    assert done.returncode == 5, done.stderr
    assert done.stdout == b""
    assert json.loads(done.stderr)["message"] == "not enough memory"
