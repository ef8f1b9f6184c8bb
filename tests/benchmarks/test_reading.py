"""prong finds in a generated store exactly what the manifest says: turns, lineage, kinds."""

from pathlib import Path

import pytest

from benchmarks.store import write_store
from prong import App


@pytest.mark.parametrize("seed", [1, 2])
def test_prong_reads_what_the_generator_wrote(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_store(tmp_path / "store", sessions=200, megabytes=20, seed=seed)
    for name, value in manifest.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    app = App()
    sessions = app.sessions.all()

    found = {
        (s.agent, s.id): (
            s.path,
            s.turn_count,
            s.parent.id if s.parent else None,
            s.inherited,
            s.headless,
            s.archived,
        )
        for s in sessions
    }
    assert found == {
        (s.agent, s.id): (s.path, s.turns, s.parent, s.inherited, s.headless, s.archived)
        for s in manifest.sessions
    }

    expected = {s.id: s for s in manifest.sessions}
    for session in sessions:
        conversation = app.sessions.conversation(session)
        assert len(conversation.turns) == expected[session.id].turns
        assert len(conversation.abandoned) == expected[session.id].abandoned
        assert not conversation.skipped
