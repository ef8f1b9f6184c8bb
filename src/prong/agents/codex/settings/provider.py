"""Which model provider a thread is for.

Codex keeps it with the thread and refuses to resume it with another one. A thread that names none
opens in `codex exec`, but not in the terminal UI of a home where Codex has run before.
"""

from collections.abc import Sequence
from pathlib import Path

from prong.agents import argv
from prong.agents.argv import Argument, Command
from prong.agents.codex.launch import PROGRAM, arguments, profile_of
from prong.agents.codex.settings import permissions
from prong.agents.shell import Word

_DEFAULT = "openai"


def model_provider(command: Command, root: Path) -> str | None:
    """The provider of a new thread that the command starts; None when Codex would ask for it."""
    given: list[Argument] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        given.extend(arguments(words))
        return words

    argv.rebuilt(command, PROGRAM, look)
    config = permissions.config_of(root, profile_of(given))
    settings = [one.value for one in given if one.flag in ("-c", "--config")]
    values = [
        _setting(text) for text in settings if text.partition("=")[0].strip() == "model_provider"
    ]
    if any(one.flag == "--oss" for one in given):
        local = [one.value for one in given if one.flag == "--local-provider"]
        provider = local[-1] if local else config.get("oss_provider")
        return provider if isinstance(provider, str) else None
    provider = values[-1] if values else config.get("model_provider")
    return provider if isinstance(provider, str) and provider else _DEFAULT


def _setting(text: str) -> object:
    """The value of `key=value`, which is TOML, or else a plain string."""
    import tomllib

    value = text.partition("=")[2].strip()
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
