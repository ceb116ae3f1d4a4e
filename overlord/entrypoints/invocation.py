"""How the commands we print are typed here: each runs as it is pasted, from the folder it was printed in.

A command has three parts that differ from one user to the next: what the program is called (it need not be on PATH), where the
state is (a variable that was put before this one command is not there for the next), and which repository is meant (`--repo`).
So texts name a command as `overlord why 7`, in backticks, wherever they are written, and what prints them to a terminal passes them
through `as_pasted`; code that prints a command on a line of its own asks for `command`. In the chat and at the forge there is no
shell: `domain/typed_there` has the words that are typed there.

Whether a variable was exported or stood before this one command cannot be found out: it is repeated, which is right for both.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path

from overlord.entrypoints.process_environment import environment
from overlord.errors import Refused

TYPED_AS = "OVERLORD_COMMAND"
"""How the operator has this program called, where it cannot know: `docker compose exec overlord overlord`."""
_REPEATED = ("OVERLORD_HOME", "OVERLORD_CONFIG")
"""Variables that say which Overlord is meant."""
EVERYWHERE = (
    *(
        "status",
        "list",
        "trends",
        "agents",
        "tier",
        "search",
        "queue",
        "why",
        "cost",
        "briefing",
        "inbox",
        "stop",
        "scope",
        "answer",
        "approve",
        "reject",
        "message",
        "job",
        "ledger",
        "decisions",
        "proposals",
    ),
    "space tests",
    "space ask-again",
    "contract edit",
    "training export",
    *(
        "call",
        "skills list",
        "skills show",
        "skills stats",
        "skills pulls",
        "skills drafts",
        "skills draft",
        "skills edit",
    ),
    *("skills approve", "skills reject", "skills retire"),
    *("knowledge list", "knowledge show", "knowledge add", "knowledge accept", "knowledge withdraw"),
    *("knowledge edit", "knowledge promote", "rules list", "rules preview", "rules add", "rules revoke"),
)
"""Commands that look at the daemon's state, and with `--repo` at that of a repository's local runs."""
LOCAL = ("run", "build", "fix", "resume", "retry", "history")
"""Commands that are about a repository's local runs, of the one around the working directory where none is named."""

URL, TOKEN = "OVERLORD_URL", "OVERLORD_TOKEN"
"""Which daemon elsewhere is asked, and the access token for it."""

_repository: ContextVar[str] = ContextVar("repository", default="")
_address: ContextVar[tuple[str, str]] = ContextVar("address", default=("", ""))


def choose_repository(named: str) -> str:
    """From here on, commands are about the local runs of this repository, as the user names it; about the daemon's for ""."""
    _repository.set(named)
    return named


def chosen_repository() -> str:
    """The repository whose local runs are meant, or ""."""
    return _repository.get()


def choose_address(url: str, token: str) -> None:
    """From here on, queries and verbs are those of the daemon whose page is at this address; of this machine's for ""."""
    found = environment()
    _address.set(((url or found.get(URL, "")).rstrip("/"), token or found.get(TOKEN, "")))


def chosen_address() -> tuple[str, str]:
    """The daemon elsewhere that is asked, and the token for it; "" for none."""
    return _address.get()


def check_here(what: str) -> None:
    """Raises Refused for what cannot be done from elsewhere."""
    if url := chosen_address()[0]:
        raise Refused(
            f"{what} works on the daemon's own machine alone, and {url} was named; leave out --url and {URL}"
        )


def command(words: str, *, home: Path | None = None) -> str:
    """`overlord WORDS`, as it is typed here, about another home where one is given. Words that are quoted for a shell stay
    as they are."""
    found = environment()
    if home is not None:
        return f"OVERLORD_HOME={shlex.quote(str(home))} {program(found, sys.argv[0])} {words}"
    asked = f" --url {shlex.quote(url)}" if (url := chosen_address()[0]) else ""
    if called := found.get(TYPED_AS):
        return f"{called}{asked} {words}{_option(words)}"
    variables = "".join(f"{name}={shlex.quote(found[name])} " for name in _REPEATED if found.get(name))
    return f"{variables}{program(found, sys.argv[0])}{asked} {words}{_option(words)}"


_NAMED = re.compile(r"`overlord (?=[a-z])([^`\n]+)`")


def as_pasted(text: str) -> str:
    """A text with each command in it as it is typed here."""
    return _NAMED.sub(lambda found: f"`{command(found[1])}`", text)


def _option(words: str) -> str:
    """What says which repository's runs are meant."""
    named = chosen_repository()
    is_everywhere = any(words == known or words.startswith(f"{known} ") for known in EVERYWHERE)
    if not named or " --repo" in words or not (is_everywhere or (named != "." and _is_local(words))):
        return ""
    return f" --repo {shlex.quote(named)}"


def _is_local(words: str) -> bool:
    """`resume acme/calc` is about the daemon's work, as `resume` alone is not."""
    return words.split(maxsplit=1)[0] in LOCAL and not re.match(r"resume (\S+/|--all)", words)


def program(values: Mapping[str, str], typed: str) -> str:
    """What this program is called where the user is: by its name where a shell finds this very program by it, else by the path
    it was `typed` by."""
    started = Path(typed)
    if started.name == "__main__.py" and started.parent.name == "overlord":
        return f"{_called(Path(sys.executable), values, is_link=False)} -m overlord"
    if started.name != "overlord" or "/" not in typed:
        return "overlord"
    return _called(started, values, is_link=True)


def _called(path: Path, values: Mapping[str, str], *, is_link: bool) -> str:
    """A program by its name, or by the shortest path to it. `is_link`: a link to it is the same program. Not so for Python, where
    the link in an environment's own folder is what makes it that environment's."""
    found = shutil.which(path.name, path=values.get("PATH"))
    same = Path.resolve if is_link else Path.absolute
    if found is not None and same(Path(found)) == same(path):
        return path.name
    ways = [str(path.absolute()), os.path.relpath(path)]
    ways = [way if "/" in way else f"./{way}" for way in ways]
    return shlex.quote(min(ways, key=len))
