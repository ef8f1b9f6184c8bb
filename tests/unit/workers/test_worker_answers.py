"""Which turn belongs to a prompt, when others send prompts to the same worker."""

from datetime import UTC, datetime

import pytest

from prong.model.sessions import Turn, TurnKind, TurnState
from prong.workers.prompts import SentPrompt, own_turn

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def turn(prompt: str, *queued: str) -> Turn:
    return Turn(
        index=1,
        id=prompt,
        kind=TurnKind.HUMAN,
        prompt=prompt,
        started=NOW,
        ended=NOW,
        state=TurnState.FINISHED,
        queued=queued,
    )


@pytest.mark.parametrize(
    ("typed", "turns", "own"),
    [
        ("mine", ["other", "mine"], "mine"),
        ("mine", ["other"], None),
        ("Prompt:\n/mine", ["other", "Prompt:\n/mine"], "Prompt:\n/mine"),
        (None, ["what the command expands to"], "what the command expands to"),
        (None, [], None),
    ],
)
def test_only_a_command_takes_a_turn_with_another_prompt(
    typed: str | None, turns: list[str], own: str | None
) -> None:
    sent = SentPrompt("tess", "mine", typed=typed)
    found = own_turn([turn(one) for one in turns], sent)
    assert (found.id if found else None) == own


def test_a_prompt_that_landed_in_a_running_turn_is_answered_there() -> None:
    found = own_turn([turn("other", "mine")], SentPrompt("tess", "mine", typed="mine"))
    assert found is not None
    assert found.id == "other"
