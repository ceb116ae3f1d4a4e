"""What else of a proposed contract a person has to see before they confirm it: every command it has run, and what it tells sessions."""

from collections.abc import Iterator

from overlord.domain.contracts.contract import Contract
from overlord.domain.text.plain import defused_line, visible

MOST_COMMANDS = 40
MOST_COMMAND = 600
MOST_GUIDANCE = 160
"""Characters that are shown of one text; how many there are is said."""


def commands_lines(contract: Contract) -> list[str]:
    """Each command that code runs to judge the work, whole, with where it is from; none where there are none."""
    found = list(dict.fromkeys(_commands(contract)))
    lines = [f"- {where}: {_code(command)}" for where, command in found[:MOST_COMMANDS]]
    more = len(found) - MOST_COMMANDS
    return [*lines, f"- and {more:,} more, in the contract itself"] if more > 0 else lines


def guidance_lines(contract: Contract) -> list[str]:
    """What every session is told, and what each role is."""
    said = [
        ("everybody", contract.guidance),
        *((name, role.guidance) for name, role in contract.roles.items()),
    ]
    return [f"- {who} is told: {words(text)}" for who, text in said if text.strip()]


def _commands(contract: Contract) -> Iterator[tuple[str, str]]:
    for name, role in contract.roles.items():
        yield from ((f"after {name}", item.command()) for item in role.verification if item.command())
    for name, phase in contract.phases.items():
        wanted = (*phase.preconditions, *phase.criteria)
        yield from ((f"in {name}", item.command()) for item in wanted if item.command())


def _code(text: str) -> str:
    line = " ".join(visible(text).replace("`", "'").split())
    left = len(line) - MOST_COMMAND
    return f"`{line[:MOST_COMMAND]}` and {left:,} characters more" if left > 0 else f"`{line}`"


def words(text: str) -> str:
    """Somebody's words in quotes and on one line, which nothing that shows them obeys."""
    line = " ".join(visible(text).split())
    left = len(line) - MOST_GUIDANCE
    said = defused_line(line[:MOST_GUIDANCE]).replace("“", '"').replace("”", '"')
    return f"“{said}”" + (f" and {left:,} characters more" if left > 0 else "")
