"""`prong doctor`: check the installation, and show how to fix what is missing."""

import click

from prong.cli.arguments import json_option
from prong.cli.output import open_app, patience, print_json, styled
from prong.model.amounts import counted
from prong.model.record import asdict
from prong.views.text import cells, clean, pad

_COLOURS = {"ok": "green", "note": "blue", "warning": "yellow"}


@click.command()
@click.option(
    "--fix", is_flag=True, help="First clean up after killed forks and recover lost snapshots."
)
@json_option
def doctor(fix: bool, as_json: bool) -> None:
    """Check the installation, and show how to fix what is missing."""
    app = open_app()
    with patience("looking ..."):
        fixed = app.setup.fix() if fix else []
        report = app.setup.doctor()
    findings = [*fixed, *report.findings]
    if as_json:
        print_json({"findings": [asdict(item) for item in findings]})
        return
    topics = max(cells(finding.topic) for finding in findings)
    for finding in findings:
        level = styled(f"{finding.level.value:<7}", fg=_COLOURS[finding.level.value])
        click.echo(f"{level} {pad(clean(finding.topic), topics)}  {clean(finding.message)}")
        if finding.hint:
            click.echo(f"{'':<{topics + 9}} {styled('try:', fg='yellow')} {clean(finding.hint)}")
    click.echo(
        f"\n{counted(report.warnings, 'warning') if report.warnings else 'no problems found'}"
    )
