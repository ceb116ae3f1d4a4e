"""`overlord`: parses, calls, renders. Errors are one sentence that names the fix; each kind has its exit code."""

import os
import sys
from collections.abc import Callable

from typer.completion import completion_init  # type: ignore[attr-defined] # it is not marked as exported

from overlord import errors
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.exit_code import code_of
from overlord.entrypoints.process_environment import conceal_environment


def run(command: Callable[[], None]) -> int:
    """Run a command, turning our own errors into a sentence and an exit code."""
    try:
        command()
    except errors.OverlordError as error:
        _print_error(error)
        return code_of(error)
    except BrokenPipeError:
        return _unheard()
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # Typer and Rich make it an exit with 1
            return _unheard()
        _flush()
        raise
    return 0


def _print_error(error: errors.OverlordError) -> None:
    from overlord.domain.text.json_text import json_text
    from overlord.domain.text.plain import visible
    from overlord.entrypoints.invocation import as_pasted
    from overlord.entrypoints.terminal.show import error_console

    said = str(error)
    if error.hint is not None or error.kept:
        from overlord.verbs.typed_words import typed_words

        said = error.worded(typed_words)
    if "--json" in sys.argv and "serve" not in sys.argv[1:2]:  # there it is the form of the log
        refs = error.hint.commands if error.hint is not None else ()
        data = {"error": type(error).__name__, "message": str(error), "kept": error.kept, "hint": refs}
        print(json_text({**data, "text": as_pasted(said)}), file=sys.stderr)
        return
    error_console.print(
        f"overlord: {as_pasted(visible(said))}", markup=False, highlight=False, soft_wrap=True
    )


def _unheard() -> int:
    """Whoever read our output has left: there is nothing more to say, and nothing went wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _unheard()


def main() -> None:
    """The console script."""
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):  # --version and --help read no settings
        conceal_environment()
    completion_init()  # shells ask through _OVERLORD_COMPLETE; options that install a script would be in every --help
    sys.exit(run(app))
