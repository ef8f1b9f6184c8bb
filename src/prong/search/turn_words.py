"""The words of a turn as the index gets them."""

from datetime import UTC, datetime

from prong.search.found_turn import number_of, place_of
from prong.search.lexical import TurnWords
from prong.search.words import names_in, spelled
from prong.texts import TurnText

LONGEST_TEXT = 200_000
"""Of one field of one turn. What is longer was pasted or printed, not said."""
_RESULT = 1_000
"""So much of the last answer of a turn stands for the turn in its session."""


def words_of_turn(turn: TurnText, key: int) -> TurnWords:
    """All of them, spelled."""
    prompt, files = spelled(turn.prompt[:LONGEST_TEXT]), spelled("\n".join(turn.files))
    last = spelled(turn.last_answer[:LONGEST_TEXT])
    id_ = number_of(turn.id)
    return TurnWords(
        key,
        id_,
        milliseconds(turn.started),
        _fingerprint(turn),
        place_of(id_, turn.index, turn.kind),
        prompt,
        spelled(turn.answer[:LONGEST_TEXT]),
        files,
        spelled("\n".join(turn.commands)[:LONGEST_TEXT]),
        spelled(turn.output),
        spelled(turn.aside[:LONGEST_TEXT]),
        # All of the answers would take as long as all the rest.
        names_in(f"{prompt}\n{last}\n{files}"),
        last[:_RESULT],
    )


def _fingerprint(turn: TurnText) -> int:
    import hashlib  # takes long to load, and a search that finds nothing new needs none

    said = f"{turn.prompt}\0{turn.answer}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()) >> 1


def milliseconds(started: str | None) -> int:
    """A time as the index has it; 0 when there is none."""
    try:
        moment = datetime.fromisoformat(started) if started else None
    except ValueError:
        return 0
    if moment is None:
        return 0
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
