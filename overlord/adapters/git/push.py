"""A push that failed: whether the external service has declined it, and in which words.

Git says one thing for "the rule forbids it" and for "the disk was full for a moment": `[remote rejected]`, with a reason in
brackets. A refusal that is repeated for ever tells nobody, and one that is put to a person for nothing costs them a press. So
whatever an external service rejects is a refusal, but for the reasons that are known to pass by themselves.
"""

import re
from collections.abc import Sequence

from overlord.errors import GitFailed, PushRefused

_REJECTED = re.compile(rb"^!\t[^\t]*\t\[remote rejected\] \((?P<why>.*)\)$", re.MULTILINE)
"""How `git push --porcelain` says that the server declined a reference."""
_PASSES = re.compile(
    r"failed to (update|lock|write)|cannot lock|unpack|bad pack|missing necessary|transaction|already exists"
    r"|internal (server )?error|time[d -]*out|unavailable|try again|rate limit|did not report",
    re.IGNORECASE,
)
"""Reasons and words of a server that has trouble of its own."""
_FORBIDDEN = re.compile(r"The requested URL returned error: 403")
_REMOTE_LINE = re.compile(r"^remote: ?(.*?)[ \t]*$", re.MULTILINE)
_CODED = re.compile(r"\bGH\d{3}\b")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOST_LINES = 20
_SUMMARY_CHARS = 200
_ADVICE: Sequence[tuple[str, str]] = (
    (
        r"create or update workflow|`workflows?` (permission|scope)",
        "Grant the sign-in the permission Workflows: read and write, or have the change made without its workflow files.",
    ),
    (
        r"push protection|cannot contain secrets|GH009",
        "Look at what it names before anything else: remove it from the change, or allow it at the address it gives.",
    ),
    (
        r"GH006|GH013|rule|protected branch",
        "Exempt branches below `minion/` from the rule, or let Overlord's sign-in bypass it.",
    ),
    (
        r"permission|write access|denied|read-only",
        "Give the sign-in the permission Contents: read and write; `overlord doctor` looks at all it needs.",
    ),
)
"""What its words are about, and what a person can do."""
_ADVISED = "Change what it complains of at the forge."


def refusal_of(error: GitFailed, branch: str) -> PushRefused | None:
    """What the external service declined, of a push to a branch that failed; None where trying again may do."""
    server_lines = _server_lines(error.errors)
    rejected = _REJECTED.search(error.output)
    why = _printable(rejected["why"]) if rejected else ""
    is_forbidden = bool(server_lines) and bool(_FORBIDDEN.search(_printable(error.errors)))
    if not (rejected or is_forbidden) or _PASSES.search(
        " ".join((why, *server_lines)) if is_forbidden else why
    ):
        return None
    summary = _summary(why, server_lines)
    words = "\n".join([*server_lines[:_MOST_LINES], *([f"({why})"] if why else [])])
    return PushRefused(
        f"the forge refused the push to {branch}: {summary}", words=words, advice=_advice(f"{why}\n{words}")
    )


def _summary(why: str, lines: Sequence[str]) -> str:
    """The line that says most: the one with GitHub's code, the reason in brackets, or the first."""
    coded = next((line for line in lines if _CODED.search(line)), "")
    found = (coded or why or lines[0]).removeprefix("error: ").rstrip(". ")
    return found if len(found) <= _SUMMARY_CHARS else found[: _SUMMARY_CHARS - 1] + "…"


def _advice(text: str) -> str:
    return next((advice for about, advice in _ADVICE if re.search(about, text, re.IGNORECASE)), _ADVISED)


def _server_lines(errors: bytes) -> list[str]:
    """What the server itself has said, without empty lines and lines of dashes."""
    found = _REMOTE_LINE.findall(_printable(errors))
    return [line for line in found if re.search(r"\w", line)]


def _printable(data: bytes) -> str:
    return _CONTROL.sub("", data.decode(errors="replace"))
