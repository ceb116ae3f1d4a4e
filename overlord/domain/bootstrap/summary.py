"""A contract as people confirm it: who owns which part of the tree, in which order they work, what they may spend, who decides.

It is Markdown that a terminal of 80 columns, a chat and a page all draw: bold words, code, and lists of one level.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from minion.protocol import ScopeMode, is_protected, path_matcher
from overlord.domain.bootstrap.summary_words import commands_lines, guidance_lines, words
from overlord.domain.contracts.contract import (
    PEOPLE,
    Contract,
    Exhausted,
    Gate,
    Phase,
    Role,
    RoleBudget,
    is_plan,
)
from overlord.domain.text.plain import count, plain_line, visible

MOST_PATTERNS = 8
"""Patterns that are named of one list."""
MOST_ITEMS = 30
"""Roles, phases or gates that are told: nobody confirms more than they can read."""
_MOST_CODE = 80
_MOST_PLACES = 5
_EXHAUSTED = {
    Exhausted.ARCHITECT: "then the architect is asked",
    Exhausted.GATE: "then a person allows more or ends the job",
    Exhausted.TERMINATE: "then the job fails",
    Exhausted.ASK: "then a person is asked",
}
_AUDIENCE = {"person": "a person decides", "approver": "an approver decides"}
_ESCALATION = {"architect": "the architect", "person": "a person"}


def summary(contract: Contract, paths: Collection[str]) -> str:
    """What a person confirms. `paths`: the files that are there now, of which each role's share is said."""
    tree = _Tree(contract, paths)
    blocks = [
        [_first_line(contract)],
        ["**Roles**", "", *_listed([_role_line(contract, name, tree) for name in contract.roles])],
        list(_paths_lines(contract, tree)),
        [
            "**Phases**",
            "",
            *_listed([_phase_line(name, contract.phases[name]) for name in _phases(contract)]),
        ],
        ["**Gates**", "", *_listed([_gate_line(name, gate) for name, gate in contract.gates.items()])],
        _titled("Commands that are run to judge the work", commands_lines(contract)),
        _titled("Words to sessions", guidance_lines(contract)),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [f"**{title}**", "", *lines] if lines else []


class _Tree:
    """The files that are there, and what of a contract matches them. Patterns are compiled once, not for each file."""

    def __init__(self, contract: Contract, paths: Collection[str]) -> None:
        self.total = len(paths)
        is_secret = path_matcher(contract.secret_paths)
        self.secret = sum(map(is_secret, paths))
        self._guarded = [path for path in paths if is_protected(path)]
        guarded = set(self._guarded)
        self._open = [path for path in paths if path not in guarded and not is_secret(path)]
        self._is_secret = is_secret
        self._nobody = set(self._open) | guarded

    def writes(self, patterns: tuple[str, ...] | None, *, is_exact: bool = False) -> int:
        """How many of the files somebody may write: those that patterns match, or any; `is_exact`: patterns are names of files. They
        have a writer from now on."""
        if patterns is None:
            found = set(self._open)
        elif is_exact:
            found = set(self._open).intersection(patterns)
        else:
            is_meant = path_matcher(patterns)
            found = set(filter(is_meant, self._open))
            # A workflow is open only where a pattern names its directory.
            found |= {
                path
                for path in self._guarded
                if is_meant(path) and not is_protected(path, patterns) and not self._is_secret(path)
            }
        self._nobody -= found
        return len(found)

    @property
    def nobody(self) -> Collection[str]:
        """The files that no role was found to write, but for the secret ones."""
        return self._nobody

    def share(self, number: int) -> str:
        """In percent of all files; `new` where nothing is there yet."""
        if not number or not self.total:
            return "new"
        percent = 100 * number / self.total
        return "under 1 %" if percent < 1 else f"{percent:.0f} %"


def _first_line(contract: Contract) -> str:
    name = plain_line(contract.name, limit=100).replace("*", "").replace("`", "")
    asked = [item for item in contract.escalation if item != "architect" or item in contract.roles]
    escalation = ", then ".join(_ESCALATION[item] for item in asked) or _ESCALATION["person"]
    lifetime = "as long as it needs"
    if contract.lifetime is not None:
        usd = "" if contract.lifetime.usd is None else f" and {_usd(contract.lifetime.usd)}"
        lifetime = f"at most {_hours(contract.lifetime.hours)}{usd}"
    return f"**{name}** – a job takes {lifetime}; whoever cannot go on asks {escalation}."


def _hours(hours: float) -> str:
    days = hours / 24
    return count(int(days), "day") if days >= 2 and days == int(days) else f"{hours:,g} h"


def _usd(usd: float) -> str:
    return f"${usd:,g}" if usd == int(usd) else f"${usd:,.2f}"


def _phases(contract: Contract) -> list[str]:
    """In the order they are written, the first one first."""
    return [name for name in dict.fromkeys((contract.start, *contract.phases)) if name in contract.phases]


def _owned(role: Role) -> tuple[str, ...] | None:
    """What a role writes by itself, without what is shared with it; None for any file."""
    if role.scope is not None and role.scope.mode is ScopeMode.UNRESTRICTED:
        return None
    own = role.scope.patterns if role.scope is not None else ()
    return tuple(dict.fromkeys((*own, *role.also_writes)))


def _role_line(contract: Contract, name: str, tree: _Tree) -> str:
    role = contract.roles[name]
    patterns = _owned(role)
    said = "any file" if patterns is None else _codes(patterns) or "nothing of its own"
    only_plan = patterns is not None and all(map(is_plan, patterns))
    is_exact = role.scope is not None and role.scope.mode is ScopeMode.EXPLICIT and not role.also_writes
    number = tree.writes(patterns, is_exact=is_exact)
    share = "the plan, which is the job's" if patterns and only_plan else tree.share(number)
    sentences = [f"owns {said} ({share})", _budget(role.budget)]
    if role.commands is not None:
        sentences.append(f"starts {_codes(role.commands) or 'no program'}")
    if role.model:
        sentences.append(f"model {_code(role.model)}")
    if not any(name in phase.actors for phase in contract.phases.values()):
        sentences.append("works in no phase")
    return f"- **{name}** {'; '.join(sentences)}."


def _budget(budget: RoleBudget | None) -> str:
    if budget is None:
        return "no budget"
    values = [
        f"{budget.minutes:g} min" if budget.minutes else "",
        count(budget.turns, "turn") if budget.turns else "",
        f"{budget.tokens:,} tokens" if budget.tokens else "",
        _usd(budget.usd) if budget.usd else "",
    ]
    each = ", ".join(filter(None, values))
    most = [
        count(budget.diff_files, "file") if budget.diff_files else "",
        count(budget.diff_lines, "line") if budget.diff_lines else "",
    ]
    changed = ", ".join(filter(None, most))
    said = count(budget.iterations, "session") + (f" of {each}" if each else "")
    said += f", {changed} changed" if changed else ""
    return f"{said}, {_EXHAUSTED[budget.exhausted or Exhausted.ASK]}"


def _paths_lines(contract: Contract, tree: _Tree) -> Iterator[str]:
    """What several may write, what nobody sees, and what is left over. The roles have been looked at before."""
    lines = list[str]()
    for item in contract.shared:
        share = tree.share(tree.writes(item.paths))
        lines.append(f"- Shared by {_and(item.roles)}: {_codes(item.paths)} ({share}).")
    if contract.secret_paths:
        lines.append(
            f"- Secret, for nobody to read or write: {_codes(contract.secret_paths)} ({count(tree.secret, 'file')})."
        )
    lines.append(_nobody(tree))
    yield from ("**Paths**", "", *_listed([line for line in lines if line]))


def _nobody(tree: _Tree) -> str:
    if not tree.total:
        return "- There is no file yet."
    if not tree.nobody:
        return "- Every other file has a role that may write it."
    places = Counter(path.partition("/")[0] + ("/" if "/" in path else "") for path in tree.nobody)
    most = sorted(places.items(), key=lambda item: (-item[1], item[0]))[:_MOST_PLACES]
    named = [f"{_code(place)} ({number:,})" for place, number in most]
    more = len(places) - len(named)
    rest = f" and {more:,} more" if more > 0 else ""
    return f"- Nobody may write {tree.share(len(tree.nobody))} of the files: {', '.join(named)}{rest}."


def _phase_line(name: str, phase: Phase) -> str:
    if phase.terminal and not phase.actors:
        return f"- **{name}**: the work is delivered."
    who = ", then ".join(phase.actors) or "nobody"
    reads, makes = _codes(phase.inputs or ()) or "nothing", _codes(phase.outputs or ()) or "nothing"
    sentences = [f"- **{name}**: {who}. Reads {reads}, makes {makes}."]
    if phase.preconditions:
        sentences.append(f"Begins when {_codes([item.describe() for item in phase.preconditions])}.")
    if phase.criteria:
        sentences.append(f"Over when {_codes([item.describe() for item in phase.criteria])}.")
    others = [f"{outcome}: {target}" for outcome, target in phase.next.items() if outcome != "done"]
    if "done" in phase.next:
        others.insert(0, phase.next["done"])
    sentences.append(f"Then {', '.join(others) if not phase.terminal else 'the work is delivered'}.")
    return " ".join(sentences)


def _gate_line(name: str, gate: Gate) -> str:
    who = _AUDIENCE.get(gate.audience, f"the role {gate.audience} decides")
    shown = f"; shows the change and {_codes(gate.inputs)}" if gate.inputs else ""
    if gate.is_pull:
        return f"- **{name}**, {gate.source} → {gate.target}: {who} at the pull request{shown}."
    yes, no = gate.approve or "nothing", gate.reject or "nothing"
    return f"- **{name}**, {gate.source} → {gate.target}: {who}{shown}. Yes: {yes}. No: {no}."


def _listed(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_ITEMS
    return [*lines[:MOST_ITEMS], f"- and {more:,} more"] if more > 0 else list(lines) or ["- none"]


def _codes(items: Sequence[str]) -> str:
    more = len(items) - MOST_PATTERNS
    said = ", ".join(_code(item) for item in items[:MOST_PATTERNS])
    return f"{said} and {more:,} more" if more > 0 else said


def _code(text: str) -> str:
    """Somebody's words as code: one line that its own content cannot close."""
    line = " ".join(visible(text).replace("`", "'").split())
    return f"`{line if len(line) <= _MOST_CODE else f'{line[: _MOST_CODE - 1].rstrip()}…'}`"


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def changes_between(old: Contract, new: Contract) -> str:
    """What differs, as short sentences in a list: for somebody who confirms a change of the contract they have."""
    lines = [
        *_whole(old, new),
        *_parts("Role", _roles_said(old), _roles_said(new)),
        *_parts("Phase", _phases_said(old), _phases_said(new)),
        *_parts("Gate", _gates_said(old), _gates_said(new)),
    ]
    if not lines:
        return "Nothing differs." if old == new else "Nothing differs but words to sessions."
    return "\n".join(_listed([f"- {line}" for line in lines]))


_Said = dict[str, tuple[str, ...] | str]


def _whole(old: Contract, new: Contract) -> Iterator[str]:
    before, after = _contract_said(old), _contract_said(new)
    yield from _aspects("The contract", before, after)
    if [name for name in _phases(old) if name in new.phases] != [
        name for name in _phases(new) if name in old.phases
    ]:
        yield f"The phases are in another order: {', '.join(_phases(new))}."


def _contract_said(contract: Contract) -> _Said:
    lifetime = contract.lifetime
    return {
        "name": _code(contract.name),
        "lifetime": "none" if lifetime is None else f"{lifetime.hours:g} h",
        "money": "no limit" if lifetime is None or lifetime.usd is None else _usd(lifetime.usd),
        "escalation": ", then ".join(contract.escalation),
        "secret paths": contract.secret_paths,
        "shared paths": tuple(
            f"{path} ({', '.join(item.roles)})" for item in contract.shared for path in item.paths
        ),
        "redacted": contract.redact,
        "words to sessions": _told(contract.guidance),
    }


def _roles_said(contract: Contract) -> dict[str, _Said]:
    return {
        name: {
            "files it may write": "any file" if (owned := _owned(role)) is None else owned,
            "programs": "any program" if role.commands is None else role.commands,
            "tools": role.tools,
            "verification": tuple(item.describe() for item in role.verification),
            "budget": _budget(role.budget),
            "words to it": _told(role.guidance),
            "model": _code(role.model) if role.model else "the settings'",
        }
        for name, role in contract.roles.items()
    }


def _told(text: str) -> str:
    return words(text) if text.strip() else "none"


def _phases_said(contract: Contract) -> dict[str, _Said]:
    return {
        name: {
            "actors": ", then ".join(phase.actors) or "nobody",
            "inputs": phase.inputs or (),
            "outputs": phase.outputs or (),
            "preconditions": tuple(item.describe() for item in phase.preconditions),
            "criteria": tuple(item.describe() for item in phase.criteria),
            "next": tuple(f"{outcome}: {target}" for outcome, target in phase.next.items()),
        }
        for name, phase in contract.phases.items()
    }


def _gates_said(contract: Contract) -> dict[str, _Said]:
    return {
        name: {
            "place": f"{gate.source} → {gate.target}",
            "who decides": "a person" if gate.audience in PEOPLE[:1] else gate.audience,
            "what is shown": gate.inputs,
            "after yes": gate.approve or "nothing",
            "after no": gate.reject or "nothing",
        }
        for name, gate in contract.gates.items()
    }


def _parts(kind: str, old: dict[str, _Said], new: dict[str, _Said]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield f"{kind} **{name}** is gone."
        elif name not in old:
            yield f"{kind} **{name}** is new."
        else:
            yield from _aspects(f"{kind} **{name}**", old[name], new[name])


def _aspects(whose: str, old: _Said, new: _Said) -> Iterator[str]:
    for aspect, before in old.items():
        after = new[aspect]
        if before == after:
            continue
        if isinstance(before, str) or isinstance(after, str):
            yield f"{whose}: {aspect}: {_said(after)}; before: {_said(before)}."
            continue
        more, fewer = (
            [item for item in after if item not in before],
            [item for item in before if item not in after],
        )
        said = [f"more: {_codes(more)}"] * bool(more) + [f"no longer: {_codes(fewer)}"] * bool(fewer)
        yield f"{whose}: {aspect}: {'; '.join(said) or 'in another order'}."


def _said(value: tuple[str, ...] | str) -> str:
    return value if isinstance(value, str) else _codes(value) or "none"
