"""Asking the operator, once, whether sessions may run as plain processes where no container engine answers.

Processes keep nothing of the user's from a session, and others can open issues: so that is never chosen silently. Without
a terminal nobody is asked, and the daemon does not start. The answer is kept in the home, so that a restart does not ask.
"""

import typer

from overlord.domain.text.plain import visible
from overlord.entrypoints.invocation import as_pasted
from overlord.entrypoints.local.asking import can_ask
from overlord.entrypoints.terminal.show import error_console
from overlord.home import Home
from overlord.settings.load import Settings

WARNING = (
    "Sessions would run as programs of your own user: whoever can open an issue that gets worked on could have them read"
    " your files and tokens."
)


def ask(settings: Settings, why: str) -> bool:
    """Whether the operator agrees to processes, which is then remembered. Nobody agrees where nobody can be asked."""
    if not can_ask():
        return False
    error_console.print(f"overlord: {as_pasted(visible(why))}", markup=False, highlight=False, soft_wrap=True)
    error_console.print(WARNING, soft_wrap=True)
    names = ", ".join(settings.repositories) or "the repositories managed by Overlord"
    if not typer.confirm(f"Work that way on {visible(names)}?", err=True):
        return False
    home = Home(settings.home)
    home.agree_to_processes()
    error_console.print(
        f"Remembered in {home.processes_agreed}; delete it to be asked again.", soft_wrap=True
    )
    return True
