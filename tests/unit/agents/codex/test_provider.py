"""The model provider that a thread is written for."""

from pathlib import Path

import pytest

from prong.agents.codex.launch import model_provider

CONFIG = 'model_provider = "mine"\noss_provider = "ollama"\n'


@pytest.mark.parametrize(
    ("command", "provider"),
    [
        ("codex", "mine"),
        ("codex resume --last", "mine"),
        ("codex -c model_provider=other", "other"),
        ("codex -c 'model_provider=\"other\"' --search", "other"),
        ("codex --config=model_provider=other", "other"),
        (("codex", "-c", "model=x", "-c", 'model_provider = "other"'), "other"),
        ("codex --profile work", "at-work"),
        ("codex -p none", "mine"),
        ("env A=b codex -p work -c model_provider=other", "other"),
        ("codex --oss", "ollama"),
        ("codex --oss --local-provider lmstudio", "lmstudio"),
    ],
)
def test_what_the_command_and_the_settings_say(
    command: str | tuple[str, ...], provider: str, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "work.config.toml").write_text('model_provider = "at-work"\n')
    assert model_provider(command, tmp_path) == provider


@pytest.mark.parametrize("config", [None, "", 'model = "x"\n', "model_provider = 5\n", "no toml ["])
def test_without_one_it_is_that_of_codex(config: str | None, tmp_path: Path) -> None:
    if config is not None:
        (tmp_path / "config.toml").write_text(config)
    assert model_provider("codex", tmp_path) == "openai"


def test_a_local_provider_that_codex_would_ask_for(tmp_path: Path) -> None:
    assert model_provider("codex --oss", tmp_path) is None
