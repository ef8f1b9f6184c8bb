"""Writes a store of Claude Code and Codex sessions that is the same on every machine.

    python -m benchmarks.store FOLDER [--sessions 2000] [--megabytes 500] [--seed 1]

The layout, the shapes of the lines and the distribution of sizes follow real stores (the figures
are in docs/internals/session-formats.md); the text is made up. One seed gives one store, byte for
byte, file times included. The manifest says what a reader should find in it; run as a program,
this writes it to `manifest.json` beside the two stores.
"""

import argparse
import math
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import msgspec
import zstandard

from benchmarks.claude import ERAS, NEWEST, ClaudeSession, Era, project_folder
from benchmarks.codex import CodexRollout, Dialect
from benchmarks.parts import Clock, Parts, Record

MANIFEST: Final = "manifest.json"
CLAUDE_SHARE: Final = 0.8
BIG_SHARE: Final = 0.2
"""The part of all bytes that one single Claude session has: 100 of 500 MB."""

# Bytes of a main session file at these quantiles, in 1,841 Claude and 556 Codex files.
_CLAUDE_SIZES: Final = ((0, 1_500), (0.1, 2_591), (0.5, 405_126), (0.9, 2_281_368), (1, 4_183_578))
_CODEX_SIZES: Final = ((0, 5_000), (0.1, 6_282), (0.5, 139_979), (0.9, 1_155_846), (1, 4_124_760))
_FORK_LIMIT: Final = 1_500_000
"""Larger sessions are not forked, so that forks do not eat the store."""
_EXTRA: Final = 0.09
"""What sub-agents and the copies in forks add to the sizes that are drawn."""


@dataclass(frozen=True)
class StoredSession:
    """What a reader should say about one session of the store."""

    agent: Literal["claude", "codex"]
    id: str
    path: Path
    turns: int
    """In the active conversation, inherited ones included."""
    abandoned: int = 0
    inherited: int = 0
    parent: str | None = None
    compactions: int = 0
    """In this file; inherited ones are not counted."""
    subagents: int = 0
    """Launched by this session, also in turns that were rewound since."""
    headless: bool = False
    archived: bool = False


@dataclass(frozen=True)
class StoreManifest:
    """What was written where, and what a reader should find."""

    root: Path
    sessions: tuple[StoredSession, ...]
    biggest: StoredSession
    files: int
    """All session files: sub-agents, older segments and files without a conversation too."""
    subagent_files: int
    empty_files: int
    """Files of Claude's that hold no conversation, as real stores have them."""
    lines: int
    size: int
    """Bytes of all session files; compressed ones count as what they hold."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make both agents' stores be found here."""
        return {
            "CLAUDE_CONFIG_DIR": str(self.root / "claude"),
            "CODEX_HOME": str(self.root / "codex"),
        }


def write_store(
    root: Path, sessions: int = 2_000, megabytes: float = 500, seed: int = 1
) -> StoreManifest:
    """Fill the folder `root`, which must be empty or absent.

    The number of sessions is exact. The number of bytes is approached: a session has at least one
    turn, so thousands of sessions in a few megabytes come out larger.
    """
    if root.exists() and any(root.iterdir()):
        raise FileExistsError(f"not empty: {root}")
    return _Store(root, Parts(seed)).write(sessions, int(megabytes * 1_000_000))


def big_session(root: Path, size: int, seed: int = 1) -> Path:
    """One Claude session of about this size, alone in a store."""
    return _Store(root, Parts(seed)).big(size).path


@dataclass
class _Store:
    root: Path
    parts: Parts
    sessions: list[StoredSession] = field(default_factory=list[StoredSession])
    names: list[bytes] = field(default_factory=list[bytes])
    files: int = 0
    subagent_files: int = 0
    empty_files: int = 0
    lines: int = 0
    size: int = 0

    def write(self, sessions: int, size: int) -> StoreManifest:
        if sessions < 1:
            raise ValueError("a store has at least one session")
        claude = max(1, round(sessions * CLAUDE_SHARE))
        codex = sessions - claude
        big = int(size * BIG_SHARE)
        claude_sizes = self._sizes(_CLAUDE_SIZES, claude - 1)
        codex_sizes = self._sizes(_CODEX_SIZES, codex)
        scale = (size - big) * (1 - _EXTRA) / max(1, sum(claude_sizes) + sum(codex_sizes))
        biggest = self.big(big)
        self._claude_all([int(wanted * scale) for wanted in claude_sizes])
        self._codex_all([int(wanted * scale) for wanted in codex_sizes])
        return StoreManifest(
            root=self.root,
            sessions=tuple(self.sessions),
            biggest=biggest,
            files=self.files,
            subagent_files=self.subagent_files,
            empty_files=self.empty_files,
            lines=self.lines,
            size=self.size,
        )

    def _sizes(self, quantiles: Sequence[tuple[float, float]], count: int) -> list[float]:
        """Sizes drawn from a distribution given by its quantiles, straight on a log scale."""
        sizes: list[float] = []
        for _ in range(count):
            at = self.parts.rng.random()
            index = next(i for i in range(1, len(quantiles)) if at <= quantiles[i][0])
            (low, small), (high, large) = quantiles[index - 1], quantiles[index]
            part = (at - low) / (high - low)
            sizes.append(math.exp(math.log(small) * (1 - part) + math.log(large) * part))
        return sizes

    # --- Claude -----------------------------------------------------------------------------------

    def _project(self) -> str:
        number = min(24, int(self.parts.rng.expovariate(1 / 7)))
        return f"/home/ada/code/project-{number:02}"

    def _era(self, size: int) -> Era:
        """Newer versions write 130 kB before they have said a word, so small sessions are old."""
        if size > 150_000 and self.parts.chance(0.55):
            return NEWEST
        return self.parts.rng.choice(ERAS[:-1])

    def big(self, size: int) -> StoredSession:
        """A session of Claude's with compactions and one very long line."""
        parts = self.parts
        session = ClaudeSession(parts, parts.uuid4(), self._project(), NEWEST, parts.clock())
        session.grow(size - size // 12, compact_every=max(500_000, size // 10))
        session.show_image(size // 12)
        return self._save_claude(session)

    def _claude_all(self, sizes: Sequence[int]) -> None:
        parts = self.parts
        left = list(reversed(sizes))
        while left:
            size = left.pop()
            headless = parts.chance(0.04)
            era = self._era(size)
            session = ClaudeSession(
                parts,
                parts.uuid4(),
                self._project(),
                ERAS[2] if headless and era.common_first else era,
                parts.clock(),
                headless=headless,
            )
            compact = size > 600_000 and parts.chance(0.5)
            session.grow(
                size, rewinds=0 if headless else 0.03, compact_every=size // 3 if compact else 0
            )
            self._title(session)
            self._save_claude(session)
            if parts.chance(0.03):
                self._save_empty(session)
            while left and session.forkable and session.size < _FORK_LIMIT and parts.chance(0.06):
                session = self._fork_claude(session, left.pop())

    def _fork_claude(self, source: ClaudeSession, size: int) -> ClaudeSession:
        # What an unmarked copy of marked lines looks like was never seen; /branch marks anew.
        child = source.fork(branch=source.marked or self.parts.chance(0.3))
        child.grow(child.size + min(size, 200_000))
        self._save_claude(child)
        return child

    def _title(self, session: ClaudeSession) -> None:
        if self.parts.chance(0.12):
            kind, key = ("custom-title", "customTitle")
            if session.era.attachments and self.parts.chance(0.5):
                kind, key = ("ai-title", "aiTitle")
            session.side({"type": kind, key: self.parts.words(4).title(), "sessionId": session.id})

    def _claude_folder(self, session: ClaudeSession) -> Path:
        return self.root / "claude" / "projects" / project_folder(session.cwd)

    def _save_claude(self, session: ClaudeSession) -> StoredSession:
        folder = self._claude_folder(session)
        path = folder / f"{session.id}.jsonl"
        self._save(path, session.lines, session.clock)
        for agent in session.subagents:
            self._save(folder / agent.name, agent.lines, session.clock)
            self.subagent_files += 1
            if agent.meta is not None:
                (folder / agent.name).with_suffix(".meta.json").write_bytes(agent.meta)
        stored = StoredSession(
            agent="claude",
            id=session.id,
            path=path,
            turns=session.turns,
            abandoned=session.abandoned,
            inherited=session.inherited,
            parent=session.parent,
            compactions=session.compactions,
            subagents=len(session.subagents),
            headless=session.headless,
        )
        self.sessions.append(stored)
        return stored

    def _save_empty(self, near: ClaudeSession) -> None:
        """A file without a conversation: only a title for another session, or only a snapshot."""
        parts = self.parts
        empty = ClaudeSession(parts, parts.uuid4(), near.cwd, near.era, near.clock)
        if parts.chance(0.5):
            summary = parts.words(5).title()
            empty.side({"type": "summary", "summary": summary, "leafUuid": near.tip})
        else:
            snapshot: Record = {"messageId": parts.uuid4(), "trackedFileBackups": {}}
            empty.side({"type": "file-history-snapshot", "snapshot": snapshot})
        self._save(self._claude_folder(near) / f"{empty.id}.jsonl", empty.lines, empty.clock)
        self.empty_files += 1

    # --- Codex ------------------------------------------------------------------------------------

    def _codex_all(self, sizes: Sequence[int]) -> None:
        parts = self.parts
        left = list(reversed(sizes))
        while left:
            size = left.pop()
            dialect: Dialect = parts.rng.choices(("paginated", "legacy", "bare"), (60, 34, 6))[0]
            source = "exec" if parts.chance(0.1) and dialect != "bare" else "cli"
            rollout = CodexRollout(parts, self._project(), dialect, parts.clock(), source=source)
            rollout.grow(size, compact_every=size // 8 if parts.chance(0.25) else 0)
            if dialect != "paginated":
                self._save_codex(rollout, archived=parts.chance(0.04), packed=parts.chance(0.03))
                continue
            rewound = rollout.turns > 1 and parts.chance(0.2)
            if rewound:
                rollout = self._rewind_codex(rollout)
            self._save_codex(rollout, abandoned=int(rewound), archived=parts.chance(0.04))
            while left and parts.chance(0.12):
                rollout = self._fork_codex(rollout, left.pop())

    def _fork_codex(self, source: CodexRollout, size: int) -> CodexRollout:
        turn = self.parts.rng.randint(source.kept + 1, source.turns)
        child = source.fork(turn)
        child.grow(child.size + min(size, 200_000))
        self._save_codex(child, parent=source.thread_id)
        return child

    def _rewind_codex(self, rollout: CodexRollout) -> CodexRollout:
        """Take back the last turn; the file it is in stays as it is."""
        self._save_rollout(rollout, self._codex_path(rollout))
        segment = rollout.rewind(rollout.turns - 1)
        segment.turn(0)
        return segment

    def _codex_path(self, rollout: CodexRollout, *, archived: bool = False) -> Path:
        home = self.root / "codex"
        folder = home / "archived_sessions" if archived else home / "sessions" / rollout.folder
        return folder / rollout.name

    def _save_codex(
        self,
        rollout: CodexRollout,
        *,
        parent: str | None = None,
        abandoned: int = 0,
        archived: bool = False,
        packed: bool = False,
    ) -> None:
        path = self._codex_path(rollout, archived=archived)
        path = self._save_rollout(rollout, path, packed=packed)
        if self.parts.chance(0.1):
            self._name_thread(rollout)
        self.sessions.append(
            StoredSession(
                agent="codex",
                id=rollout.thread_id,
                path=path,
                turns=rollout.turns,
                abandoned=abandoned,
                inherited=rollout.kept if parent else 0,
                parent=parent,
                compactions=rollout.compactions,
                subagents=rollout.all_subagents,
                headless=rollout.headless,
                archived=archived,
            )
        )

    def _save_rollout(self, rollout: CodexRollout, path: Path, *, packed: bool = False) -> Path:
        saved = self._save(path, rollout.lines, rollout.clock, packed=packed)
        for agent in rollout.subagents:
            self._save(self._codex_path(agent), agent.lines, agent.clock)
            self.subagent_files += 1
        return saved

    def _name_thread(self, rollout: CodexRollout) -> None:
        record = {
            "id": rollout.thread_id,
            "thread_name": self.parts.words(4).title(),
            "updated_at": rollout.clock.stamp(),
        }
        self.names.append(msgspec.json.encode(record) + b"\n")
        path = self.root / "codex" / "session_index.jsonl"
        path.write_bytes(b"".join(self.names))
        self._date(path, rollout.clock)

    # --- both -------------------------------------------------------------------------------------

    def _save(
        self, path: Path, lines: Iterable[bytes], clock: Clock, *, packed: bool = False
    ) -> Path:
        content = b"".join(lines)
        self.files += 1
        self.lines += content.count(b"\n")
        self.size += len(content)
        if packed:
            path = path.with_name(path.name + ".zst")
            content = zstandard.compress(content, 3)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._date(path, clock)
        return path

    def _date(self, path: Path, clock: Clock) -> None:
        nanoseconds = clock.milliseconds * 1_000_000
        os.utime(path, ns=(nanoseconds, nanoseconds))


def main() -> None:
    """Write a store from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replace", action="store_true", help="delete the folder first")
    options = parser.parse_args()
    if options.replace:
        shutil.rmtree(options.folder, ignore_errors=True)
    manifest = write_store(options.folder, options.sessions, options.megabytes, options.seed)
    (options.folder / MANIFEST).write_bytes(msgspec.json.encode(manifest, enc_hook=str))
    print(
        f"{len(manifest.sessions)} sessions, {manifest.size / 1e6:.0f} MB in {manifest.files} "
        f"files ({manifest.subagent_files} of sub-agents), {manifest.lines} lines"
    )


if __name__ == "__main__":
    main()
