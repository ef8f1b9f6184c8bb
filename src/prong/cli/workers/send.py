"""`prong send`: send a prompt to a worker."""

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, open_app, patience, print_json, read_prompt
from prong.cli.workers.started import asked, kept, print_answer, view


@click.command()
@worker_argument
@click.argument("text", metavar="TEXT|-", nargs=-1, required=True)
@click.option("--wait", "-w", is_flag=True, help="Wait for the answer and print it.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    default=1800,
    help="Time limit of --wait (default: 1800).",
)
@click.option(
    "--as-command", is_flag=True, help="Send an agent command: /clear, or ! and a shell command."
)
@json_option
def send(
    name: str, text: tuple[str, ...], wait: bool, timeout: float, as_command: bool, as_json: bool
) -> None:
    """Send a prompt to a worker.

    `-` reads it from stdin. The text is always a prompt: `/clear` and `!ls` go to the model unless
    you pass --as-command. If the pane contains an unsent draft, nothing is sent and the exit status
    is 4.
    """
    prompt = read_prompt(" ".join(text), f'prong send {name} "..."')
    assert prompt is not None
    app = open_app()
    if not wait:
        with kept(app, name), patience("sending ..."):
            app.workers.prompts.send(name, prompt, as_command=as_command)
        if as_json:
            print_json({"worker": name, "sent": True})
        return
    status, reply = asked(app, name, prompt, timeout, as_command=as_command)
    if as_json:
        print_json(view(status, sent=True, reply=reply))
    else:
        print_answer(reply)
