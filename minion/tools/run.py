"""Running a command: its own process group, a time limit, a directory inside the workspace, bounded output."""

import shutil

from minion import shell
from minion.errors import ToolError
from minion.session import Session
from minion.tools.tool import Kind, Parameter, Tool


def run_command(session: Session, *, command: str, directory: str = ".", timeout_s: int | None = None) -> str:
    limits = session.brief.limits
    if "\0" in command:
        raise ToolError("command holds a NUL character.")
    shell_program = shutil.which("bash", path=session.command_environment["PATH"])
    if (terms := session.brief.terms) is not None and terms.commands is not None:
        from minion.tools.command_list import check_commands  # few sessions have a list

        check_commands(command, terms.commands)
        if shell_program is None:
            raise ToolError(
                "Nothing was run: what a line starts can only be told for bash, which is not here."
            )
    place = session.territory.readable(directory)
    if not place.is_dir():
        raise ToolError(f"{directory} is not a directory of the workspace.")
    allowed_s = min(timeout_s or limits.command_s, limits.command_s)
    done = shell.run(
        [shell_program or "sh", "-c", command],
        directory=place,
        environment=session.command_environment,
        timeout_s=allowed_s,
        keep_bytes=limits.output_chars,
        waiting=session.interrupts.waiting,
    )
    output = done.output.rstrip("\n")
    ending = f"[exit code {done.exit_code}]"
    if done.exit_code is None:
        ending = f"[stopped after {allowed_s} s, with everything it had started]"
    return f"{output}\n{ending}" if output else ending


TOOLS = (
    Tool(
        name="run_command",
        meaning=(
            "Run a shell command (bash -c). Each call starts fresh, without input; background processes end with it. "
            "Output and errors come back together, long output with its middle left out."
        ),
        run=run_command,
        parameters=(
            Parameter(name="command", meaning="The command line.", required=True),
            Parameter(name="directory", meaning="Where to run it; the repository's root when left out."),
            Parameter(name="timeout_s", meaning="Seconds it may take.", kind=Kind.NUMBER, least=1),
        ),
    ),
)
