"""Rules 1.1, 1.3 and 5.3: every role says what it may write, apart from the others, and nothing of it governs the job itself."""

from collections.abc import Iterator
from itertools import combinations

from minion.protocol import ScopeError, ScopeMode
from overlord.domain.contracts.contract import PLAN, Contract
from overlord.domain.contracts.overlap import is_plain
from overlord.domain.contracts.rules.rule import Checked, Key, Violation


def scopes_are_declared(checked: Checked) -> Iterator[Violation]:
    """1.1: every role has a scope that can be read and that leaves something to write."""
    for key, pattern, mode in _places(checked.contract):
        problem = checked.problem_of(pattern, mode)
        if problem or checked.protected_path(pattern, mode) == "":
            yield Violation(
                key=key,
                message=problem or "the pattern matches no path there can be",
                fix="write a path or pattern from the repository's root, as src/**",
            )
    for name, role in checked.contract.roles.items():
        if role.scope is None:
            yield Violation(
                key=("roles", name),
                message=f"role {name} declares no scope",
                fix="write `scope: [src/**]`, or `scope: {mode: unrestricted}`",
            )
        else:
            yield from _scope_is_usable(checked, name)


def _scope_is_usable(checked: Checked, name: str) -> Iterator[Violation]:
    rule, key = checked.contract.roles[name].scope, ("roles", name, "scope")
    assert rule is not None
    if any(
        checked.problem_of(pattern, rule.mode) or checked.protected_path(pattern, rule.mode) is not None
        for pattern in rule.patterns
    ):
        return  # each of them is named already, here or by rule 5.3
    try:
        scope = rule.scope()
    except ScopeError as error:
        problem = str(error).replace("MINION_SCOPE", "its scope")
        yield Violation(key=key, message=f"role {name}: {problem}", fix="write `scope: [src/**]`")
        return
    if rule.mode is ScopeMode.DIRECTORY and any(
        is_plain(pattern) and not checked.overlaps.leaves_out(pattern, checked.secret)
        for pattern in scope.patterns
    ):
        return
    path = checked.overlaps.shortest(scope)
    if (
        checked.secret
        and path is not None
        and checked.overlaps.shortest(scope, without=checked.secret) is None
    ):
        yield Violation(
            key=key,
            message=f"role {name} may write nothing: all of its scope is under secret_paths",
            counterexample=path,
            fix="give it a scope beside the secret paths, or take the path out of secret_paths",
        )


def overlaps_are_shared(checked: Checked) -> Iterator[Violation]:
    """1.3: a path that two roles may write is declared shared between them."""
    scopes = {name: checked.own_scope(name) for name in checked.contract.roles}
    for first, second in combinations(scopes, 2):
        ours, theirs = scopes[first], scopes[second]
        if ours is None or theirs is None:
            continue
        shared = [
            path
            for item in checked.contract.shared
            if {first, second} <= set(item.roles)
            for path in item.paths
        ]
        # The plan is the job's, and each phase says who makes it.
        plan = (f"{PLAN}/**",) if checked.contract.has_plan else ()
        without = (*checked.readable(shared), *checked.secret, *plan)
        path = checked.overlaps.shortest(ours, theirs, without=without)
        if path is not None:
            yield Violation(
                key=("roles", second, "scope"),
                message=f"the roles {first} and {second} may both write a path that is not declared shared",
                counterexample=path,
                fix=f"make their scopes apart, or add `{{paths: [{_written(path)}], roles: [{first}, {second}]}}` to `shared`",
            )


def nothing_governs(checked: Checked) -> Iterator[Violation]:
    """5.3: no pattern is only about what governs jobs: git's own directory, contracts, what Overlord keeps."""
    outputs = (
        (("phases", name, "outputs", index), pattern, ScopeMode.DIRECTORY)
        for name, phase in checked.contract.phases.items()
        for index, pattern in enumerate(phase.outputs or ())
    )
    for key, pattern, mode in (*_places(checked.contract, with_secret=False), *outputs):
        if not checked.problem_of(pattern, mode) and (path := checked.protected_path(pattern, mode)):
            yield Violation(
                key=key,
                message="no session may write what it names, whatever a contract says",
                counterexample=path,
                fix="take it out: .git and .nebulus are written by people alone",
            )


def _places(contract: Contract, *, with_secret: bool = True) -> Iterator[tuple[Key, str, ScopeMode]]:
    """Every pattern that says what may be written, or may not, where it stands and how it is read."""
    for name, role in contract.roles.items():
        if role.scope is not None:
            for index, pattern in enumerate(role.scope.patterns):
                yield ("roles", name, "scope", "patterns", index), pattern, role.scope.mode
        for index, pattern in enumerate(role.also_writes):
            yield ("roles", name, "also_writes", index), pattern, ScopeMode.DIRECTORY
    for number, item in enumerate(contract.shared):
        for index, pattern in enumerate(item.paths):
            yield ("shared", number, "paths", index), pattern, ScopeMode.DIRECTORY
    if with_secret:
        for index, pattern in enumerate(contract.secret_paths):
            yield ("secret_paths", index), pattern, ScopeMode.DIRECTORY


def _written(path: str) -> str:
    """A path as a pattern in YAML that matches it."""
    return path if path.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum() else "…"
