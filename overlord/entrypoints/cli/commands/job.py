"""`overlord job …`."""

import typer

from overlord.entrypoints.cli.commands import job_evidence, job_work
from overlord.entrypoints.cli.verb_command import verb_command
from overlord.entrypoints.cli.verb_list import bind_queries

app = typer.Typer(help="Jobs: issues being worked.", no_args_is_help=True)

bind_queries(app, "job")
app.command()(job_work.transcript)
app.command()(job_work.diff)
app.command()(job_work.logs)
app.command()(job_evidence.brief)
app.command()(job_evidence.export)
app.command("stop")(verb_command("stop"))
app.command("retry")(verb_command("retry"))
