"""Rules 2.1 and 2.2: every phase says what it reads and makes, and what it reads is there when it begins."""

from collections.abc import Collection, Iterator

from minion.protocol import Scope
from overlord.domain.contracts.contract import ISSUE, Phase, is_plan
from overlord.domain.contracts.criteria.criterion import Criterion
from overlord.domain.contracts.graph import drawn
from overlord.domain.contracts.rules.rule import Checked, Key, Violation


def phases_declare_artifacts(checked: Checked) -> Iterator[Violation]:
    """2.1: every phase that works or goes on declares inputs and outputs, and somebody in it may write the outputs."""
    for name, phase in checked.contract.phases.items():
        for which, patterns, example in (
            ("inputs", phase.inputs, "inputs: [issue]"),
            ("outputs", phase.outputs, "outputs: [src/**]"),
        ):
            if (patterns is None and not (phase.terminal and not phase.actors)) or (
                phase.actors and not patterns
            ):
                yield Violation(
                    key=("phases", name),
                    message=f"phase {name} declares no {which}",
                    fix=f"write `{example}`",
                )
            for index, pattern in enumerate(patterns or ()):
                if problem := checked.problem_of(pattern):
                    yield Violation(
                        key=("phases", name, which, index),
                        message=problem,
                        fix="write a path or pattern from the repository's root, as src/**",
                    )
        if checked.contract.version > 1:
            yield from _outputs_can_be_written(checked, name, phase)
            yield from _criteria_are_about_what_is_made(checked, name, phase)


def _outputs_can_be_written(checked: Checked, name: str, phase: Phase) -> Iterator[Violation]:
    scopes = [checked.writable(actor) for actor in phase.actors if actor in checked.contract.roles]
    known = [scope for scope in scopes if scope is not None]
    if len(known) < len(phase.actors) or not phase.actors:
        return  # a role that is not there, or has no scope, is named by its own rule
    for index, output in enumerate(phase.outputs or ()):
        if is_plan(output) or checked.problem_of(output) or checked.protected_path(output) is not None:
            continue
        if not any(checked.is_written_by(output, scope) for scope in known):
            yield Violation(
                key=("phases", name, "outputs", index),
                message=f"no actor of phase {name} may write it",
                counterexample=checked.overlaps.shortest(Scope(patterns=(output,))) or "",
                fix=f"put it into the scope of {' or '.join(phase.actors)}, or take it out",
            )


def _criteria_are_about_what_is_made(checked: Checked, name: str, phase: Phase) -> Iterator[Violation]:
    """Artifacts of the plan that criteria look at are made in the phase, or before it on every way."""
    asked: list[tuple[Key, Criterion]] = [
        (("phases", name, "criteria", index), item) for index, item in enumerate(phase.criteria)
    ]
    for actor in phase.actors:
        role = checked.contract.roles.get(actor)
        verification = role.verification if role is not None else ()
        asked += [(("roles", actor, "verification", index), item) for index, item in enumerate(verification)]
    for key, criterion in asked:
        for path in plan_paths(criterion):
            if not checked.makes(name, path) and _way_without(checked, name, path):
                yield Violation(
                    key=key,
                    message=f"{criterion.kind} looks at {path} in phase {name}, whose outputs do not have it",
                    counterexample=drawn(_way_without(checked, name, path)),
                    fix=f"add {path} to the outputs of {name}",
                )


def inputs_are_there(checked: Checked) -> Iterator[Violation]:
    """2.2: an input is the issue, a file at base, or made by an earlier phase; what is of the plan, by one on every way."""
    contract = checked.contract
    for name, phase in contract.phases.items():
        wanted: list[tuple[Key, str]] = [
            (("phases", name, "inputs", index), item) for index, item in enumerate(phase.inputs or ())
        ]
        for index, criterion in enumerate(phase.preconditions):
            wanted += [(("phases", name, "preconditions", index), path) for path in plan_paths(criterion)]
        for key, pattern in wanted:
            yield from _input_is_there(checked, key, name, pattern, own_too=False)
    for name, gate in contract.gates.items():
        if gate.source in contract.phases:
            for index, pattern in enumerate(gate.inputs):
                yield from _input_is_there(
                    checked, ("gates", name, "inputs", index), gate.source, pattern, own_too=True
                )


def _input_is_there(
    checked: Checked, key: Key, phase: str, pattern: str, *, own_too: bool
) -> Iterator[Violation]:
    if pattern == ISSUE or checked.problem_of(pattern):
        return
    if is_plan(pattern):
        way = () if own_too and checked.makes(phase, pattern) else _way_without(checked, phase, pattern)
        if way:
            yield Violation(
                key=key,
                message=f"{pattern} is read in phase {phase}, and nothing makes it before",
                counterexample=drawn(way),
                fix=f"add {pattern} to the outputs of an earlier phase",
            )
        return
    earlier = {*checked.graph.before(phase), *([phase] if own_too else [])}
    if checked.existing is None or any(checked.makes(name, pattern) for name in earlier):
        return
    if not _exists(pattern, checked.existing):
        yield Violation(
            key=key,
            message=f"{pattern} is read in phase {phase}: no file at base matches it, and no earlier phase makes it",
            counterexample=drawn(checked.graph.way(phase)),
            fix="correct the pattern, or add it to the outputs of an earlier phase",
        )


def _way_without(checked: Checked, phase: str, pattern: str) -> tuple[str, ...]:
    """A way to a phase on which nothing makes what a pattern is about; empty where there is none."""
    makers = {name for name in checked.contract.phases if name != phase and checked.makes(name, pattern)}
    return checked.graph.way(phase, avoiding=makers)


def plan_paths(criterion: Criterion) -> tuple[str, ...]:
    """The paths and patterns of the plan that a criterion is about."""
    value = getattr(criterion, criterion.kind, None)
    named = (value, getattr(value, "path", None), *criterion.files())
    return tuple(dict.fromkeys(path for path in named if isinstance(path, str) and is_plan(path)))


def _exists(pattern: str, existing: Collection[str]) -> bool:
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(["/" + pattern.lstrip("/")])
    return any(spec.match_file(path) for path in existing)
