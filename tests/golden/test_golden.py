"""What users and scripts rely on: help screens, JSON, MCP schemas, error codes."""

import json
from collections.abc import Iterator

import click
import pytest

from prong import errors
from prong.cli.main import COMMANDS, main
from prong.mcp.schemas import schema_of
from prong.mcp.tool import McpTool
from prong.mcp.tools import TOOLS
from tests.cli.code_lab import CodeLab
from tests.cli.shell import API, PARSER, Shell
from tests.golden.golden import FOLDER, check, check_shape


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, (*words, name))


@pytest.mark.parametrize("words", [*commands(main)], ids=lambda words: "-".join(words) or "prong")
def test_help(shell: Shell, words: tuple[str, ...]) -> None:
    """At 80 columns."""
    check(f"help/{'-'.join(words) or 'prong'}.txt", shell.ok(*words, "--help", COLUMNS="80"))


def test_there_is_a_help_screen_for_each_command() -> None:
    known = {f"{'-'.join(words) or 'prong'}.txt" for words in commands(main)}
    assert {path.name for path in (FOLDER / "help").iterdir()} == known
    assert set(COMMANDS) <= {words[0] for words in commands(main) if words}


JSON = (
    ("list",),
    ("find", "rate limiting"),
    ("show", f"{API}@1"),
    ("turns", API),
    ("turns", PARSER),
    ("tree", API),
    ("diff", f"{API}@2"),
    ("fork", f"{API}@2", "--dry-run"),
    ("fork", f"{API}@2", "--yes", "--no-open"),
    ("resume", API),
    ("snapshot", API),
    ("worktrees",),
    ("worktrees", "prune", "--dry-run"),
    ("hooks", "status"),
    ("hooks", "install", "--agent", "claude", "--dry-run"),
    ("mcp", "install", "--dry-run"),
    ("index",),
    ("index", "--status"),
    ("export", "out", "--dry-run"),
    ("schedule", "status"),
    ("run", "hello", "--headless", "--dry-run", "--agent", "claude"),
    ("ps",),
    ("doctor",),
)


@pytest.mark.parametrize("words", JSON, ids=lambda words: "-".join(words).replace("/", "_")[:40])
def test_json(shop: Shell, words: tuple[str, ...]) -> None:
    CodeLab.make(shop)
    named = [word.replace(API, "api").replace(PARSER, "parser") for word in words]
    name = "-".join(named).replace(" ", "-").replace("@", "-")
    check_shape(f"json/{name}.json", shop.json(*words))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_mcp(tool: McpTool) -> None:
    schemas = {
        "title": tool.title,
        "description": tool.description,
        "effect": tool.effect.value,
        "input": schema_of(tool.arguments),
        "output": schema_of(tool.result, nullable=True),
    }
    check(f"mcp/{tool.name}.json", json.dumps(schemas, indent=1, sort_keys=True) + "\n")


def test_error_codes() -> None:
    def tree(class_: type[errors.ProngError], depth: int = 0) -> Iterator[str]:
        codes = f"{class_.code} {class_.exit_code} {class_.http_status}"
        yield f"{'  ' * depth}{class_.__name__} {codes}"
        for inner in class_.__subclasses__():
            if inner.__module__ == errors.__name__:
                yield from tree(inner, depth + 1)

    check("errors.txt", "\n".join(tree(errors.ProngError)) + "\n")
