"""`prong doctor`."""

import click

from prong.cli.output import json_option, open_app, print_json, styled
from prong.cli.text import clean

_COLOURS = {"ok": "green", "note": "blue", "warning": "yellow"}


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Tell what is installed, what is missing, and what to type about it."""
    report = open_app().doctor()
    if as_json:
        from dataclasses import asdict

        print_json({"findings": [asdict(one) for one in report.findings]})
        return
    for finding in report.findings:
        level = styled(f"{finding.level.value:<7}", fg=_COLOURS[finding.level.value])
        click.echo(f"{level} {finding.topic:<8} {clean(finding.message)}")
        if finding.hint:
            click.echo(f"{'':<16} {styled('try:', fg='yellow')} {clean(finding.hint)}")
    count = report.warnings
    if count:
        click.echo(f"\n{count} warning{'s' if count > 1 else ''}")
    else:
        click.echo("\nall is well")
