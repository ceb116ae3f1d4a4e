"""Rules 4.1, 4.2 and 4.3: everything ends, and it is said what follows."""

from collections.abc import Iterator

from overlord.domain.contracts.contract import Exhausted
from overlord.domain.contracts.rules.rule import Checked, Violation


def sessions_have_a_budget(checked: Checked) -> Iterator[Violation]:
    """4.1: every role has a budget; what it leaves out are the limits of the settings."""
    for name, role in checked.contract.roles.items():
        if role.budget is None:
            fix = "write `budget: {exhausted: ask}` to take the limits of the settings"
            yield Violation(key=("roles", name), message=f"role {name} has no budget", fix=fix)


def running_out_is_declared(checked: Checked) -> Iterator[Violation]:
    """4.2: every budget says who comes next when it is used up, and that there is somebody."""
    roles = checked.contract.roles
    for name, role in roles.items():
        if role.budget is None:
            continue
        key = ("roles", name, "budget")
        if role.budget.exhausted is None:
            message = f"role {name} does not say what follows when its budget is used up"
            fix = f"write `exhausted: ask`, or another of {', '.join(Exhausted)}"
            yield Violation(key=key, message=message, fix=fix)
        elif role.budget.exhausted is Exhausted.ARCHITECT and name == Exhausted.ARCHITECT:
            message = "the architect would be asked about its own failure"
            yield Violation(key=(*key, "exhausted"), message=message, fix="write `exhausted: ask`")
        elif role.budget.exhausted is Exhausted.ARCHITECT and Exhausted.ARCHITECT not in roles:
            message = f"role {name} hands over to the architect, and no role is called architect"
            fix = "add the role architect, or write `exhausted: ask`"
            yield Violation(key=(*key, "exhausted"), message=message, fix=fix)


def jobs_have_a_lifetime(checked: Checked) -> Iterator[Violation]:
    """4.3: a job ends, whatever its sessions do."""
    if checked.contract.lifetime is None:
        yield Violation(
            key=("lifetime",), message="the contract has no lifetime", fix="write `lifetime: {hours: 168}`"
        )
