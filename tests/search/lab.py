"""Sessions to search in, and an app to search them with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prong import App
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.config import Config, SearchSettings
from prong.model.search import Hit, SearchRequest, SearchResult
from prong.testing.home import IsolatedHome
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass
class SearchLab:
    """A home with sessions that a test writes."""

    home: IsolatedHome
    output: bool = True
    _count: int = field(default=0, init=False)

    def app(self) -> App:
        """As a new process would see it."""
        stores = {
            "claude": ClaudeStore([self.home.claude]),
            "codex": CodexStore([self.home.codex]),
        }
        return App(
            Config(search=SearchSettings(output=self.output)), stores=stores, needs_programs=False
        )

    def claude(self, *turns: tuple[str, str], cwd: str | None = None) -> ClaudeSample:
        """A written session of prompts and answers."""
        sample = self.sample(cwd)
        for prompt, answer in turns:
            sample.prompt(prompt)
            sample.answer(answer)
        sample.write(self.home.claude)
        return sample

    def sample(self, cwd: str | None = None) -> ClaudeSample:
        """A session in the making, each a day younger than the one before."""
        self._count += 1
        id_ = f"{self._count:08x}-0000-4000-8000-{self._count:012x}"
        start = START + timedelta(days=self._count)
        return ClaudeSample(id_, cwd or str(self.project("shop")), start)

    def codex(self, *turns: tuple[str, str], cwd: str | None = None) -> CodexSample:
        self._count += 1
        id_ = f"01930000-0000-7000-8000-{self._count:012x}"
        start = START + timedelta(days=self._count)
        sample = CodexSample(id_, cwd or str(self.project("shop")), start)
        for prompt, answer in turns:
            sample.turn(prompt, answer)
        sample.write(self.home.codex)
        return sample

    def project(self, name: str) -> Path:
        folder = self.home.projects / name
        folder.mkdir(exist_ok=True)
        return folder

    def find(self, text: str, **options: Any) -> SearchResult:
        """The answer of a new process, by words alone unless told otherwise."""
        options.setdefault("fast", True)
        with self.app() as app:
            return app.search.find(SearchRequest(text, **options))

    def places(self, text: str, **options: Any) -> list[str]:
        return places(self.find(text, **options).hits)


def places(hits: Sequence[Hit]) -> list[str]:
    """What was found, short: `1@2` is turn 2 of the first session."""
    return [
        f"{int(hit.ref.id[-12:], 16)}@{hit.turn.index if hit.turn else None}"
        for hit in hits
        if hit.ref
    ]
