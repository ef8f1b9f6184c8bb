"""The last words of a session, read from its end: the same as in the whole of it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.sessions import SessionRef
from prong.model.workers import LastWords
from prong.storage.scan_cache import NoCache


@pytest.mark.parametrize("kind", [ClaudeStore, CodexStore])
def test_they_are_those_of_the_last_turn(
    kind: type[ClaudeStore | CodexStore], tmp_path: Path
) -> None:
    store = kind([tmp_path])
    store.write_samples("/home/ada/shop", datetime(2026, 11, 16, tzinfo=UTC))
    sessions = store.scan(NoCache()).sessions
    assert sessions
    for session in sessions:
        last = store.conversation(session).turns[-1]
        said = [one.text for one in store.messages(session) if one.role == "assistant"]
        assert store.last_words(session) == LastWords(last.prompt, said[-1])


def test_what_stands_behind_the_answer_does_not_hide_it(tmp_path: Path) -> None:
    store = ClaudeStore([tmp_path])
    store.write_samples("/home/ada/shop", datetime(2026, 11, 16, tzinfo=UTC))
    session = store.scan(NoCache()).sessions[0]
    before = store.last_words(session)
    with session.path.open("a") as file:
        file.write(f'{{"type":"attachment","uuid":"x","x":"{"y" * 200_000}"}}\n')
    assert store.last_words(session).said == before.said != ""


def test_a_prompt_that_is_too_far_up_is_taken_from_the_agents_own_note(tmp_path: Path) -> None:
    store = ClaudeStore([tmp_path])
    id_ = "60309e1e-9d1c-4b5a-8d59-6a1c3f7be210"
    path = tmp_path / "projects" / "-shop" / f"{id_}.jsonl"
    path.parent.mkdir(parents=True)
    common = f'"sessionId":"{id_}","timestamp":"2026-11-16T12:00:00Z"'
    prompt = f'{{"type":"user","uuid":"1",{common},"message":{{"content":"build it"}}}}'
    much = f'{{"type":"attachment","uuid":"2","parentUuid":"1",{common},"x":"{"y" * 100_000}"}}'
    note = f'{{"type":"last-prompt","lastPrompt":"build it",{common}}}'
    path.write_text(f"{prompt}\n{much}\n{note}\n")
    session = store.session_at(path)
    assert session is not None
    assert store.last_words(session) == LastWords("build it", "")
    path.unlink()
    assert store.last_words(session) == LastWords()
    assert session.ref == SessionRef("claude", id_)
