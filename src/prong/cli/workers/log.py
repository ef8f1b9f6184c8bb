"""`prong log`: show a worker's transcript."""

import sys
from typing import TYPE_CHECKING

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, note, open_app, print_json
from prong.cli.sessions.page import TranscriptPage
from prong.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prong.model.sessions import Message


@click.command()
@worker_argument
@click.option("--follow", "-f", is_flag=True, help="Follow new messages until Ctrl-C.")
@json_option
def log(name: str, follow: bool, as_json: bool) -> None:
    """Show a worker's transcript.

    `>` marks a prompt, `*` a tool call.
    """
    from prong.session.transcript import paired
    from prong.views import json

    if follow and as_json:
        raise UsageError("--follow and --json cannot be combined", hint="leave --json out")
    app = open_app()
    worker = app.workers.records.get(name)
    messages = app.workers.prompts.log(name, follow=follow)
    if as_json:
        print_json({"worker": name, "messages": [json.message(item) for item in paired(messages)]})
        return
    page = TranscriptPage(_nothing_above, str(worker.workspace), full=False)
    for message in _called(messages) if follow else paired(messages):
        page.add(message)
        if follow:
            sys.stdout.flush()
    if page.is_empty:
        note("no messages yet")


def _nothing_above() -> None:
    pass


def _called(messages: "Iterable[Message]") -> "Iterable[Message]":
    """Drop tool results: the calls were already printed."""
    return (message for message in messages if message.role != "tool")
