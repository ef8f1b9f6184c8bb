"""Every real session of the shared corpus becomes one of the other agent, with all its prompts."""

from pathlib import Path

import pytest

from prong.model.sessions import Message, View
from tests.corpus import corpus
from tests.corpus.corpus import Expected
from tests.unit.agents.conversions import convert, other

pytestmark = pytest.mark.corpus

SESSIONS = [row for row in corpus.expected() if row.turns]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not corpus.corpus_folder().is_dir():
        pytest.skip("the shared corpus is not beside the project; PRONG_CORPUS names its folder")
    target = tmp_path_factory.mktemp("corpus")
    corpus.unpack(target)
    return target


@pytest.mark.parametrize("row", SESSIONS, ids=lambda row: row.file)
def test_a_session_of_the_other_agent(row: Expected, folder: Path, tmp_path: Path) -> None:
    store, conversation = corpus.read(folder / row.file, folder)
    said = list(store.messages(conversation.session))
    made = convert(said, other(store.name), tmp_path / "root")
    prompts = [words(turn.prompt) for turn in conversation.turns]
    assert in_order(prompts, [words(prompt) for prompt in made.prompts])
    # What was there before the first prompt has no turn, but may have had to get one.
    assert len(made.prompts) - len(prompts) <= 1
    answers = "\n".join(text for role, text in made.said(View.CONTEXT) if role == "assistant")
    assert all(answer in answers for answer in of_the_model(said))


def words(text: str) -> str:
    """The readers of the two agents differ in the white space they keep."""
    return " ".join(text.split())


def in_order(wanted: list[str], found: list[str]) -> bool:
    rest = iter(found)
    return all(prompt in rest for prompt in wanted)


def of_the_model(messages: list[Message]) -> list[str]:
    """What it said, and what its tools gave back."""
    texts = [message.text for message in messages if message.role == "assistant"]
    texts += [m.tool.output.strip("\n") for m in messages if m.tool and m.tool.output]
    return [text for text in texts if text.strip()]
