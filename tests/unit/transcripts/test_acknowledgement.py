import pytest

from prong.transcripts.acknowledgement import is_ready

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
