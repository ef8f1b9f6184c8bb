"""The model provider of a thread.

Codex stores it with the thread and refuses to resume with another. A thread without one opens in
`codex exec`, but not in the terminal UI of a home where Codex has run before.
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
    """Return the provider of a new thread; None if Codex would ask for it."""
    parsed: list[Argument] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        parsed.extend(arguments(words))
        return words

    argv.rebuilt(command, PROGRAM, look)
    config = permissions.config_of(root, profile_of(parsed))
    settings = [arg.value for arg in parsed if arg.flag in ("-c", "--config")]
    configured = [
        _setting(text) for text in settings if text.partition("=")[0].strip() == "model_provider"
    ]
    if any(arg.flag == "--oss" for arg in parsed):
        local = [arg.value for arg in parsed if arg.flag == "--local-provider"]
        provider = local[-1] if local else config.get("oss_provider")
        return provider if isinstance(provider, str) else None
    provider = configured[-1] if configured else config.get("model_provider")
    return provider if isinstance(provider, str) and provider else _DEFAULT


def _setting(text: str) -> object:
    """Return the value of `key=value`, which is TOML or else a plain string."""
    import tomllib

    value = text.partition("=")[2].strip()
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
