"""The seventeen rules in one table, and the two that are no rules of the constitution but that every contract is held against."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.pattern_automaton import TooManyStates
from overlord.domain.contracts.rules import artifacts, budgets, names, scopes, transitions
from overlord.domain.contracts.rules.rule import Checked, Rule, Violation

NAMES = Rule(
    number="names",
    title="Every role, phase and gate that is named is there.",
    advice="Correct the name: the message has those that are near.",
    check=names.names_exist,
)
USABLE = Rule(
    number="usable",
    title="Everything that is asked for can be had.",
    advice="Take out what is not there yet, or update Overlord.",
    check=names.can_be_had,
)
RULES = (
    Rule(
        number="1.1",
        title="Every role declares what it may write.",
        advice="Give the role a `scope`, as `[src/**]`, that can be read and is not secret as a whole.",
        check=scopes.scopes_are_declared,
    ),
    Rule(
        number="1.2",
        title="Work stays inside the scope of its role.",
        advice="What is outside is taken back and said to the next session.",
        at_run=True,
    ),
    Rule(
        number="1.3",
        title="Where two roles may write the same path, it is declared shared.",
        advice="Make the scopes apart, or name the path under `shared`.",
        check=scopes.overlaps_are_shared,
        holds_version_1=False,
    ),
    Rule(
        number="2.1",
        title="Every phase declares its inputs and outputs, and its actors can make the outputs.",
        advice="Write `inputs` and `outputs`, and give an actor a scope that has them.",
        check=artifacts.phases_declare_artifacts,
    ),
    Rule(
        number="2.2",
        title="An input exists already, or an earlier phase makes it.",
        advice="Correct the pattern, or add it to the `outputs` of an earlier phase.",
        check=artifacts.inputs_are_there,
        holds_version_1=False,
    ),
    Rule(
        number="3.1",
        title="Criteria are declared, and all are met before a transition.",
        advice="Give the phase `criteria`, and the role a `verification`.",
        check=transitions.criteria_are_declared,
        at_run=True,
    ),
    Rule(
        number="3.2",
        title="A gate cannot be passed without its answer.",
        advice="Answer the gate: nothing else moves the job beyond it.",
        at_run=True,
    ),
    Rule(
        number="3.3",
        title="Phases lead to an end, and never back to where they came from.",
        advice="Take the transition out that leads back, or write `next` or `terminal: true`.",
        check=transitions.phases_lead_to_an_end,
    ),
    Rule(
        number="3.4",
        title="A gate is on one transition, and says what follows approval and rejection.",
        advice="Write `on`, `approve` and `reject` with phases and endings that there are.",
        check=transitions.gates_say_both,
    ),
    Rule(
        number="4.1",
        title="Every session has a budget.",
        advice="Write `budget: {exhausted: ask}`; what it leaves out are the limits of the settings.",
        check=budgets.sessions_have_a_budget,
        at_run=True,
    ),
    Rule(
        number="4.2",
        title="Running out of budget follows a way that is declared.",
        advice="Write `exhausted: ask`, `gate`, `terminate`, or `architect` where there is that role.",
        check=budgets.running_out_is_declared,
        at_run=True,
    ),
    Rule(
        number="4.3",
        title="Every job has a lifetime.",
        advice="Write `lifetime: {hours: 168}`.",
        check=budgets.jobs_have_a_lifetime,
        at_run=True,
    ),
    Rule(
        number="5.1",
        title="Every decision is recorded, with who made it and why.",
        advice="Nothing has to be done: the history of a job has them.",
        at_run=True,
    ),
    Rule(
        number="5.2",
        title="The ledger is only added to.",
        advice="Where its check fails, restore a backup.",
        at_run=True,
    ),
    Rule(
        number="5.3",
        title="No session can touch contracts, the ledger or what the engine keeps.",
        advice="Take paths below `.git` and `.nebulus` out of scopes and outputs.",
        check=scopes.nothing_governs,
        at_run=True,
    ),
    Rule(
        number="5.4",
        title="Every verification leaves its evidence, whatever the ending.",
        advice="Nothing has to be done: the evidence is with the job.",
        at_run=True,
    ),
    Rule(
        number="5.5",
        title="People decide at a gate before the end, and no machine answers for them.",
        advice="Put a gate with `audience: person` on every way to the end.",
        check=transitions.people_decide,
        at_run=True,
    ),
)
"""The constitution, in the order of its domains: scopes, artifacts, transitions, budgets, governance."""


def violations(contract: Contract, existing: Collection[str] | None = None) -> list[Violation]:
    """Everything a contract breaks. `existing`: the files at base, where they are known. A contract that was checked against an older
    constitution is held against the newest."""
    checked = Checked(contract, existing)
    return [item for rule in (NAMES, USABLE, *RULES) for item in _broken(rule, checked)]


def changes_since(version: int) -> tuple[Rule, ...]:
    """The rules that are new since a version of the constitution."""
    return tuple(rule for rule in RULES if rule.since > version)


def _broken(rule: Rule, checked: Checked) -> Iterator[Violation]:
    if rule.check is None or (checked.contract.version == 1 and not rule.holds_version_1):
        return
    try:
        for item in rule.check(checked):
            yield replace(item, rule=rule.number)
    except TooManyStates as error:
        yield Violation(
            rule=USABLE.number,
            key=("roles",),
            message=f"rule {rule.number} cannot be decided: {error}",
            fix="write patterns with fewer `*` and `?` inside names",
        )
