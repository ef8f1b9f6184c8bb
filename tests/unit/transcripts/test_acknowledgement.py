import pytest

from prong.transcripts.acknowledgement import AckFilter, is_ready

READY = [
    "Ready.",
    "Ready",
    " ready. \n",
    "READY!",
    "**Ready.**",
    "`Ready.`",
    '"Ready."',
    "**Ready**.",
    "_ready_\n\n",
]
ANSWERS = [
    "",
    " \n",
    "R",
    "Read",
    "Ready to go: which file shall I open?",
    "Ready. Now running the tests.",
    "I am ready.",
    "Already",
    "Ready.\nReady.",
    "Ready?",
    "Not ready.",
    "Readying.",
    "Ready." + " " * 100,
    "API Error: 400",
]


@pytest.mark.parametrize("text", READY)
def test_the_acknowledgement_and_its_trivial_variants(text: str) -> None:
    assert is_ready(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_anything_else_is_an_answer(text: str) -> None:
    assert not is_ready(text)


def shown(*pieces: str, failed: bool = False) -> tuple[str, bool]:
    """What a filter lets through of one message, and whether it swallowed it."""
    ack = AckFilter()
    text = "".join([ack.feed(piece) for piece in pieces])
    return text + ack.close(failed=failed), ack.filtered


def test_it_comes_in_pieces() -> None:
    ack = AckFilter()
    assert [ack.feed(piece) for piece in ("\n", "**Re", "a", "dy", ".*", "*", "\n")] == [""] * 7
    assert not ack.filtered
    assert ack.close() == ""
    assert ack.filtered


def test_an_answer_that_begins_like_it_is_released_as_soon_as_it_is_one() -> None:
    ack = AckFilter()
    assert [ack.feed(piece) for piece in ("Rea", "dy", ". ", "N", "ow")] == [
        "",
        "",
        "",
        "Ready. N",
        "ow",
    ]
    assert ack.close() == ""
    assert not ack.filtered


def test_it_never_comes() -> None:
    assert shown() == ("", False)
    assert shown("Rea") == ("Rea", False)
    assert shown("Let me look.") == ("Let me look.", False)
    assert shown("\n") == ("\n", False)


def test_the_turn_fails() -> None:
    assert shown("Rea", failed=True) == ("Rea", False)
    assert shown("Ready.", failed=True) == ("Ready.", False)


def test_only_the_first_is_swallowed() -> None:
    ack = AckFilter()
    assert ack.feed("Ready.") + ack.end_message() == ""
    assert ack.filtered
    assert ack.feed("Ready.") + ack.end_message() + ack.close() == "Ready."


def test_with_a_tool_call_before_or_after_it() -> None:
    after = AckFilter()
    assert after.feed("Ready.") + after.end_message() == ""
    assert after.feed("The file is empty.") == "The file is empty."
    assert after.filtered
    # Here the first that the agent said was something else, so all of it is shown.
    before = AckFilter()
    assert before.feed("Let me look.") + before.end_message() == "Let me look."
    assert before.feed("Ready.") + before.close() == "Ready."
    assert not before.filtered


def test_reasoning_leaves_no_text_or_a_blank_one_before_it() -> None:
    ack = AckFilter()
    assert ack.end_message() == ""
    assert ack.feed("\n\n") + ack.end_message() == ""
    assert ack.feed("Ready.") + ack.close() == ""
    assert ack.filtered


def test_a_restart_before_the_end_begins_anew() -> None:
    AckFilter().feed("Rea")
    assert shown("Ready.") == ("", True)


def test_what_is_held_back_has_a_bound() -> None:
    ack = AckFilter()
    given = [ack.feed(" ") for _ in range(1000)]
    assert "".join(given) + ack.close() == " " * 1000
    assert given.index(" " * 65) == 64
