"""What stands in the line for input, as the screens of both agents show it."""

import pytest

from prong.agents.claude import activity as claude
from prong.agents.codex import activity as codex

RULE = "\u2500" * 60
CLAUDE = f"""
\u276f hello

\u25cf ECHO: hello
{RULE}
\u276f {{}}
{RULE}
  \u23f5\u23f5 bypass permissions on (shift+tab to cycle)"""
CODEX = """
\u203a hello

\u2022 ECHO: hello

\u203a {}

  gpt-5 default \u00b7 ~/shop
  ? for shortcuts"""


@pytest.mark.parametrize("text", ["", "my draft", "two\n\n  lines", f"a\n  {RULE}\n  b"])
def test_what_is_typed(text: str) -> None:
    assert claude.input_on(CLAUDE.format(text)) == text
    assert codex.input_on(CODEX.format(text)) == text


def test_the_mode_is_in_front_of_it() -> None:
    assert claude.input_on(CLAUDE.replace(f"{RULE}\n\u276f {{}}", f"{RULE}\n!  ls")) == "!ls"
    assert claude.input_on(CLAUDE.replace(f"{RULE}\n\u276f {{}}", f"{RULE}\n! ")) == "!"
    assert codex.input_on(CODEX.replace("\u203a {}", "! ls -la")) == "!ls -la"


def test_a_list_of_commands_is_above_it() -> None:
    listed = CODEX.replace("\u203a {}", "\u203a /model  choose\n  /ide\n\n\u203a /mod")
    assert codex.input_on(listed) == "/mod"
    listed = CLAUDE.replace(f"{RULE}\n\u276f {{}}", f"  \u276f /clear\n{RULE}\n\u276f /cl")
    assert claude.input_on(listed) == "/cl"


@pytest.mark.parametrize(
    "screen", ["", "\n\n", "$ ls\nfile", f"{RULE}\n{RULE}", "\u203a 1. Yes\n  2. No"]
)
def test_a_screen_without_one(screen: str) -> None:
    assert claude.input_on(screen) is None
    assert codex.input_on(screen) is None
