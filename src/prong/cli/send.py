"""`prong send`."""

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, open_app, patience, print_json, read_prompt
from prong.cli.started import answer, kept, print_answer, view


@click.command()
@worker_argument
@click.argument("text", metavar="TEXT|-", nargs=-1, required=True)
@click.option(
    "--wait", "-w", is_flag=True, help="Wait until it is idle again, and print the answer."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    default=1800,
    help="How long --wait waits (1800).",
)
@json_option
def send(name: str, text: tuple[str, ...], wait: bool, timeout: float, as_json: bool) -> None:
    """Give a worker its next prompt.

    `-` reads it from stdin. The text arrives as it is, whatever is in it. What somebody has typed
    into the worker's pane and not sent becomes a part of the prompt.
    """
    prompt = read_prompt(" ".join(text), f'prong send {name} "..."')
    assert prompt is not None
    app = open_app()
    with kept(app, name), patience("sending ..."):
        before = app.workers.status(name)
        app.workers.send(name, prompt)
    if not wait:
        if as_json:
            print_json({"worker": name, "sent": True})
        return
    status, reply = answer(app, name, before.turn or 0, timeout)
    if as_json:
        print_json(view(status, sent=True, reply=reply))
    else:
        print_answer(reply)
