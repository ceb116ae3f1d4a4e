"""What is no numbered rule: every name that is used exists, and everything that is asked for can be had."""

import re
from collections.abc import Collection, Iterator

from overlord.domain.contracts.contract import END, ENDINGS, ISSUE, PEOPLE, Contract, Exhausted
from overlord.domain.contracts.rules.rule import CONSTITUTION, Checked, Key, Violation
from overlord.domain.text.near import did_you_mean

ARCHITECT = str(Exhausted.ARCHITECT)
TOOLS = (
    *("read_file", "list_directory", "search_files", "glob_files", "write_file", "edit_file", "run_command"),
    *("list_skills", "use_skill", "ask_question", "task_complete", "task_blocked"),
)
"""What a session can be offered. A test holds it against the Minion's own list."""
OF_A_SERVER = "mcp__"
"""How a tool of an MCP server begins. Which servers there are is said in the settings, not in the contract."""
EVENTS = ("needs_escalation", "complete", "blocked", "error", "out_of_budget")
"""How sessions end under every contract."""
_QUANTIFIER = re.compile(r"[*+?]|\{\d*,?\d*\}")


def names_exist(checked: Checked) -> Iterator[Violation]:
    """Every role, phase and gate that is named is there, and no name means something else."""
    contract = checked.contract
    if contract.start not in contract.phases:
        yield _unknown(("start",), "start names", "phase", contract.start, contract.phases)
    yield from _names_are_free(contract)
    yield from _phases_name_what_exists(contract)
    yield from _gates_name_what_exists(contract)
    for number, item in enumerate(contract.shared):
        for index, role in enumerate(item.roles):
            if role not in contract.roles:
                key_of_role = ("shared", number, "roles", index)
                yield _unknown(key_of_role, "shared paths name", "role", role, contract.roles)
    yield from _architect_is_there(contract)


def _names_are_free(contract: Contract) -> Iterator[Violation]:
    for name in contract.phases:
        if name in {END, *ENDINGS, ISSUE}:
            yield _reserved(("phases", name), f"a phase cannot be called {name}")
    for name in contract.roles:
        if name in PEOPLE:
            yield _reserved(("roles", name), f"a role cannot be called {name}")


def _gates_name_what_exists(contract: Contract) -> Iterator[Violation]:
    for name, gate in contract.gates.items():
        key, known = ("gates", name), contract.phases
        if gate.source not in known:
            yield _unknown((*key, "on"), f"gate {name} comes after", "phase", gate.source, known)
        if gate.target not in {*known, END}:
            yield _unknown((*key, "on"), f"gate {name} comes before", "phase", gate.target, known)
        for which, outcome in (("approve", gate.approve), ("reject", gate.reject)):
            if outcome is not None and outcome not in {*known, *ENDINGS, END}:
                targets = (*known, *ENDINGS, END)
                yield _unknown((*key, which), f"gate {name} leads to", "phase", outcome, targets)


def _phases_name_what_exists(contract: Contract) -> Iterator[Violation]:
    for name, phase in contract.phases.items():
        for index, actor in enumerate(phase.actors):
            key: Key = ("phases", name, "actors", index)
            if actor not in contract.roles:
                yield _unknown(key, f"phase {name} names", "role", actor, contract.roles)
            elif actor in phase.actors[:index]:
                message = f"phase {name} names the role {actor} twice"
                yield Violation(key=key, message=message, fix="name it once: each actor has one turn")
        for outcome, target in phase.next.items():
            key = ("phases", name, "next", outcome)
            if target not in contract.phases:
                found = _unknown(key, f"phase {name} goes on to", "phase", target, contract.phases)
                is_end = target in {END, *ENDINGS}
                fix = "a last phase has no `next` and says `terminal: true`" if is_end else found.fix
                yield Violation(key=key, message=found.message, fix=fix)


def _architect_is_there(contract: Contract) -> Iterator[Violation]:
    """Handing work up to the architect needs one; by default a person comes after it."""
    if ARCHITECT in contract.roles:
        return
    fix = "add the role architect, or write person"
    if contract.escalation == (ARCHITECT,):
        message = "escalation names the architect alone, and no role is called architect"
        yield Violation(key=("escalation",), message=message, fix=fix)
    for name, receiver in contract.events.items():
        if receiver == ARCHITECT:
            message = f"the event {name} goes to the architect, and no role is called architect"
            yield Violation(key=("events", name), message=message, fix=fix)


def can_be_had(checked: Checked) -> Iterator[Violation]:
    """What a contract asks for is there: the rules it was checked against, tools, events, expressions that can be used."""
    contract = checked.contract
    if contract.constitution > CONSTITUTION:
        yield Violation(
            key=("constitution",),
            message=f"it was checked against rules of version {contract.constitution}, and version {CONSTITUTION} is the newest known here",
            fix="update Overlord, or lower the number",
        )
    for name, role in contract.roles.items():
        for index, tool in enumerate(role.tools):
            if tool not in TOOLS and not tool.startswith(OF_A_SERVER) and contract.version > 1:
                yield _unknown(("roles", name, "tools", index), f"role {name} names", "tool", tool, TOOLS)
    for name in contract.events:
        if name in EVENTS:
            message = f"every contract has an event or an ending called {name}"
            yield Violation(key=("events", name), message=message, fix="give yours another name")
    for index, expression in enumerate(contract.redact):
        if problem := problem_of_expression(expression):
            yield Violation(key=("redact", index), message=problem[0], fix=problem[1])
    yield from _somebody_begins(contract)
    for name, phase in contract.phases.items():
        for index, criterion in enumerate(phase.preconditions):
            if not criterion.is_static:
                yield Violation(
                    key=("phases", name, "preconditions", index),
                    message=f"{criterion.kind} needs a session, and preconditions are looked at before there is one",
                    fix="make it one of the criteria of an earlier phase",
                )


def _somebody_begins(contract: Contract) -> Iterator[Violation]:
    """A later phase without actors is passed through; a job cannot begin at one."""
    first = contract.phases.get(contract.start)
    if first is not None and not first.actors:
        message = f"a job begins at phase {contract.start}, and nobody works there"
        role = next(iter(contract.roles), "developer")
        yield Violation(key=("phases", contract.start), message=message, fix=f"write `actors: [{role}]`")


def problem_of_expression(expression: str) -> tuple[str, str] | None:
    """What is wrong with a regular expression that a repository wrote, and what to do; None where it can be used.

    It is held against megabytes by the daemon itself, so repetition of what repeats is refused: that can take for ever."""
    try:
        compiled = re.compile(expression)
    except (re.error, OverflowError, RecursionError):
        return "it is no regular expression", "correct it; `sk-[a-z0-9]{20,}` is one"
    if compiled.match("") is not None:
        return (
            "it matches nothing at all, so it would match everywhere",
            "make at least one character certain",
        )
    if _repeats_what_repeats(expression):
        return (
            "it repeats a group or refers back to one, which can take for ever",
            "repeat single characters or brackets alone, as `[a-z0-9]{20,}`",
        )
    return None


def _repeats_what_repeats(expression: str) -> bool:
    """Whether a group is repeated or referred to, or more is repeated than one pass can bear."""
    plain = re.sub(r"\\[^1-9]", "_", expression)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "_", plain)
    endless = len(re.findall(r"[*+]|\{\d*,\}", plain))
    refers = "\\" in plain or "(?P=" in plain or re.search(r"\(\?<?[=!(]", plain) is not None
    repeated = any(_QUANTIFIER.match(plain, place.end()) for place in re.finditer(r"\)", plain))
    return refers or repeated or endless > 3


def _unknown(key: Key, said: str, kind: str, name: str, known: Collection[str]) -> Violation:
    meant = did_you_mean(name, known).removeprefix("; ")
    fix = meant or (f"known: {', '.join(known)}" if known else f"there is no {kind} yet")
    return Violation(key=key, message=f"{said} an unknown {kind} {name!r}", fix=fix)


def _reserved(key: Key, message: str) -> Violation:
    return Violation(key=key, message=f"{message}: the word means something else", fix="give it another name")
