"""Whatever a user can type or meet is described in docs/reference, and nothing else is."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from prong import errors
from prong.cli import main

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def commands(
    group: click.Command = main, name: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name; of groups only those that do something themselves."""
    if not isinstance(group, click.Group):
        yield " ".join(name), group
        return
    if name and group.invoke_without_command:
        yield " ".join(name), group
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if command is not None and not command.hidden:
            yield from commands(command, (*name, word))


def sections() -> dict[str, str]:
    """The sections `## prong NAME` of the command reference, by name."""
    text = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    found = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    titles = (section.partition("\n") for section in found)
    return {
        title.removeprefix("prong ").strip(): body
        for title, _, body in titles
        if title.startswith("prong ")
    }


def error_classes(
    base: type[errors.ProngError] = errors.ProngError,
) -> Iterator[type[errors.ProngError]]:
    yield base
    for child in base.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from error_classes(child)


def error_table() -> dict[str, tuple[int, int]]:
    """Code -> exit status and HTTP status, as documented."""
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", text, flags=re.MULTILINE)
    return {code: (int(exit_code), int(http)) for code, exit_code, http in rows}


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    command = COMMANDS[name]
    assert command.help, f"prong {name} has no help"
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.help, f"{parameter.opts[0]} of prong {name} has no help"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_a_section_that_names_its_options(name: str) -> None:
    section = sections().get(name)
    assert section, f"docs/reference/cli.md has no section '## prong {name}'"
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert f"`{parameter.opts[0]}" in section, f"{parameter.opts[0]} is not described"


def test_every_section_is_about_a_command_that_exists() -> None:
    assert set(sections()) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_section_describes_an_option_that_does_not_exist(name: str) -> None:
    described = set(re.findall(r"^\| `(--[a-z-]+)", sections()[name], flags=re.MULTILINE))
    existing = {
        text
        for parameter in COMMANDS[name].params
        for text in (*parameter.opts, *parameter.secondary_opts)
    }
    assert described <= existing


def test_every_error_code_is_described_with_its_statuses() -> None:
    classes = {cls.code: (cls.exit_code, cls.http_status) for cls in error_classes()}
    assert error_table() == classes
