"""Parts of views about contracts: a contract as tables, and what its edges are."""

from collections.abc import Iterable

from overlord.domain.chat.lines import words
from overlord.domain.contracts.outline import ContractOutline
from overlord.domain.view.span import Bold, Span
from overlord.domain.view.view import Fields, Heading, Part, Table

Line = tuple[Span, ...]
_CELL = 300


def roles_table(outline: ContractOutline) -> Table:
    """Who works."""
    rows = tuple(
        (
            (Bold(role.name),),
            (_list(role.writes) or "nothing",),
            ("any" if role.commands is None else _list(role.commands) or "none",),
            (role.budget,),
        )
        for role in outline.roles
    )
    return Table(("role", "may write", "commands", "budget"), rows)


def phases_table(outline: ContractOutline) -> Table:
    """What is done, in order."""
    rows = tuple(
        (
            (Bold(phase.name),),
            (_list(phase.actors) or "nobody",),
            (_list(phase.criteria) or "none",),
            (_list(phase.next),),
        )
        for phase in outline.phases
    )
    return Table(("phase", "works", "criteria", "next"), rows)


def gates_table(outline: ContractOutline) -> Table:
    """Who is asked."""
    rows = tuple(
        ((Bold(gate.name),), (gate.on,), (gate.audience,), (gate.approve or "-",), (gate.reject or "-",))
        for gate in outline.gates
    )
    return Table(("gate", "on", "audience", "approve", "reject"), rows)


def details(outline: ContractOutline) -> Fields:
    """What is so of all of it."""
    known: tuple[tuple[str, Line], ...] = (
        ("lifetime", (outline.lifetime,)),
        ("escalation", (" then ".join(outline.escalation) or "none",)),
        ("secret paths", (_list(outline.secret_paths) or "none",)),
        ("version", (str(outline.version),)),
    )
    return Fields(known)


def more_of_roles(outline: ContractOutline) -> list[Part]:
    """What the tables of roles and phases have no room for; nothing where nothing is said."""
    rows: list[tuple[str, Line]] = []
    for role in outline.roles:
        said = [f"works in {_list(role.phases)}" if role.phases else "works in no phase"]
        said += [f"verified by {_list(role.verification)}"] if role.verification else []
        said += [f"model {role.model}"] if role.model else []
        rows.append((role.name, (words("; ".join([*said, f"exhausted: {role.exhausted}"]), _CELL),)))
    for phase in outline.phases:
        named = (("before", phase.preconditions), ("reads", phase.inputs), ("makes", phase.outputs))
        said = [f"{name} {_list(items)}" for name, items in named if items]
        rows += [(phase.name, (words("; ".join(said), _CELL),))] if said else []
    return [Heading("More of roles and phases"), Fields(tuple(rows))] if rows else []


def tables(outline: ContractOutline) -> list[Part]:
    """The whole contract."""
    gates: list[Part] = [Heading("Gates"), gates_table(outline)] if outline.gates else []
    return [
        details(outline),
        Heading("Roles"),
        roles_table(outline),
        Heading("Phases"),
        phases_table(outline),
        *gates,
        *more_of_roles(outline),
    ]


def read_at(source: str) -> Line:
    """Where a contract was read."""
    return (f"Read from {words(source, _CELL)}.",)


def _list(items: Iterable[str]) -> str:
    return words(", ".join(items), _CELL)
