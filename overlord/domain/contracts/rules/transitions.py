"""Rules 3.1, 3.3, 3.4 and 5.5: phases say when they are over, lead to an end, and a person decides on every way to it."""

from collections.abc import Iterator

from overlord.domain.contracts.contract import BLOCKED, DONE, END, PEOPLE, Contract, Gate
from overlord.domain.contracts.graph import drawn
from overlord.domain.contracts.rules.rule import Checked, Violation
from overlord.domain.text.near import did_you_mean


def criteria_are_declared(checked: Checked) -> Iterator[Violation]:
    """3.1: every phase with actors has criteria, and every role says how its work is verified."""
    for name, phase in checked.contract.phases.items():
        if phase.actors and not phase.criteria:
            fix = "write `criteria: [evaluation_passed]`, or another criterion"
            yield Violation(key=("phases", name), message=f"phase {name} has no criteria", fix=fix)
    for name, role in checked.contract.roles.items():
        if not role.verification:
            fix = "write `verification: [diff_non_empty]`, or another criterion"
            yield Violation(key=("roles", name), message=f"role {name} has no verification", fix=fix)


def phases_lead_to_an_end(checked: Checked) -> Iterator[Violation]:
    """3.3: no way leads back, every phase can be come to, and each either goes on or is the last."""
    contract, graph = checked.contract, checked.graph
    for circle in graph.circles():
        yield Violation(
            key=("phases", circle[-2], "next"),
            message="phases lead back to where they came from",
            counterexample=drawn(circle),
            fix="take one of these transitions out; work goes back by the `reject` of a gate",
        )
    if contract.version == 1:
        return
    reached = graph.reached()
    for name, phase in contract.phases.items():
        key = ("phases", name)
        if name not in reached and contract.start in contract.phases:
            yield Violation(
                key=key,
                message=f"no way leads from {contract.start} to phase {name}",
                fix=f"name {name} in the `next` of another phase, or take it out",
            )
        if phase.terminal and phase.next:
            yield Violation(
                key=(*key, "next"),
                message=f"phase {name} is terminal and goes on",
                counterexample=drawn((name, next(iter(phase.next.values())))),
                fix="take out `terminal` or `next`",
            )
        elif not phase.terminal and not set(phase.next) - {BLOCKED}:
            yield Violation(
                key=key,
                message=f"phase {name} has no successor when it is {DONE}, and is not terminal",
                counterexample=drawn(graph.way(name)),
                fix=f"write `next: {{{DONE}: …}}`, or `terminal: true`",
            )


def gates_say_both(checked: Checked) -> Iterator[Violation]:
    """3.4: a gate is on a transition that there is, alone, and says what follows approval and rejection."""
    contract = checked.contract
    transitions = {f"{source}->{target}" for source, _, target in contract.edges()}
    taken: dict[str, str] = {}
    for name, gate in contract.gates.items():
        key = ("gates", name)
        for which, outcome in (("approve", gate.approve), ("reject", gate.reject)):
            if outcome is None:
                fix = f"write `{which}: …` with a phase, or {'merged' if which == 'approve' else 'stopped'}"
                yield Violation(key=key, message=f"gate {name} does not say what follows `{which}`", fix=fix)
        names_are_known = gate.source in contract.phases and gate.target in {*contract.phases, END}
        if names_are_known and gate.on not in transitions:
            yield Violation(
                key=(*key, "on"),
                message=f"gate {name} is on a transition that there is not",
                counterexample=gate.on,
                fix=did_you_mean(gate.on, transitions).removeprefix("; ")
                or f"the transitions are {', '.join(sorted(transitions))}",
            )
        elif gate.on in taken:
            yield Violation(
                key=(*key, "on"),
                message=f"the gates {taken[gate.on]} and {name} are on the same transition",
                counterexample=gate.on,
                fix="keep one of them, or put a phase without actors between them",
            )
        taken.setdefault(gate.on, name)
        yield from _targets_fit(contract, name, gate)


def _targets_fit(contract: Contract, name: str, gate: Gate) -> Iterator[Violation]:
    """Endings mean what they say: what is merged or closed is the pull request, which there is at the end alone."""
    approve, reject = ("gates", name, "approve"), ("gates", name, "reject")
    if gate.is_pull and gate.target != END:
        message = f"gate {name} is the pull request's, which is merged on the way to the end alone"
        yield Violation(
            key=approve,
            message=message,
            counterexample=gate.on,
            fix="approve to a phase, or put it on `…->end`",
        )
    elif gate.target == END and gate.approve in contract.phases:
        message = f"gate {name} is on the way to the end, and approval leads to phase {gate.approve}"
        yield Violation(key=approve, message=message, fix="write `approve: merged`, or `approve: end`")
    if gate.approve in {"pr_closed", "stopped"}:
        message = f"approval of gate {name} ends the job without its work"
        yield Violation(key=approve, message=message, fix="approve to a phase, `merged` or `end`")
    if gate.reject in {"merged", END}:
        message = f"rejection of gate {name} delivers the work"
        yield Violation(key=reject, message=message, fix="reject to a phase, `pr_closed` or `stopped`")
    elif contract.version > 1 and gate.reject is not None and (gate.reject == "pr_closed") != gate.is_pull:
        message = f"gate {name}: `reject: pr_closed` belongs to `approve: merged`, and neither goes without the other"
        fix = "write `reject: pr_closed`" if gate.is_pull else "reject to a phase or `stopped`"
        yield Violation(key=reject, message=message, fix=fix)


def people_decide(checked: Checked) -> Iterator[Violation]:
    """5.5: gates are answered by people or a role, and no way leads to the end past every gate of people."""
    contract = checked.contract
    for name, gate in contract.gates.items():
        if gate.audience not in {*PEOPLE, *contract.roles}:
            meant = did_you_mean(gate.audience, (*PEOPLE, *contract.roles)).removeprefix("; ")
            yield Violation(
                key=("gates", name, "audience"),
                message=f"gate {name} is answered by {gate.audience!r}, which is neither people nor a role",
                fix=meant or f"write {', '.join(PEOPLE)} or the name of a role",
            )
    if contract.version == 1:
        return
    way = checked.graph.way(END, through=lambda edge: edge.gate is None or not edge.gate.is_for_people)
    if way:
        yield Violation(
            key=("gates",),
            message="a way leads to the end without a gate that people answer",
            counterexample=drawn(way),
            fix=f"add `merge: {{on: {way[-2]}->end, audience: person, approve: merged, reject: pr_closed}}` to `gates`",
        )
