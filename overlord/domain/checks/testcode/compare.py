"""A changed test file against itself at base, function by function and assertion by assertion: what proves less than before.

Wording and layout do not count, and neither does a value that is expected now and was not before: whether that is right the runs and
the review say (`comparison`, `claim`). Moved, renamed and merged assertions are followed as far as their words are the same.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from overlord.domain.checks.testcode.go import read_go
from overlord.domain.checks.testcode.python import read_python
from overlord.domain.checks.testcode.script import read_script
from overlord.domain.checks.testcode.syntax import TooIntricate, language_of, parse
from overlord.domain.checks.testcode.tests import (
    STRICTEST,
    Assertion,
    Strength,
    Suspension,
    TestCode,
    Weakness,
    is_looser,
)

Codes = Mapping[str, TestCode]
_SUSPENSIONS = {
    Suspension.SWALLOWED: "A failure of this assertion is caught and goes unnoticed.",
    Suspension.CONDITIONAL: "This is asserted only under a condition now.",
    Suspension.UNREACHED: "The test leaves before it checks this.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A changed file as it was and as it is, with its path each time; None where it does not exist."""

    path: str
    before: bytes | None
    after: bytes | None
    old_path: str = ""


def read_tests(path: str, source: bytes) -> Codes | None:
    """The functions of a test file by name; None where its language is not known or it cannot be parsed."""
    root = parse(path, source)
    if root is None:
        return None
    read = {"python": read_python, "go": read_go}.get(language_of(path), read_script)
    try:
        return read(root)
    except (RecursionError, TooIntricate):
        return None


class Compared:
    """Every changed test file that could be parsed on both sides."""

    def __init__(self, sources: Iterable[Source], *, deletions: bool = True) -> None:
        """`deletions`: whether tests that are gone are named here, and not by what the runs say of them."""
        self._deletions = deletions
        self._pairs: dict[str, tuple[Codes, Codes]] = {}
        self._unread: list[Source] = []
        self._proving: dict[str, dict[str, bool]] = {}
        self._new: dict[str, tuple[set[str], set[str]]] = {}
        for source in sources:
            before = (
                read_tests(source.old_path or source.path, source.before) if source.before is not None else {}
            )
            after = read_tests(source.path, source.after) if source.after is not None else {}
            if before is not None and after is not None:
                self._pairs[source.path] = (before, after)
            elif before is not None and language_of(source.path):
                self._unread.append(source)
        self._fresh: dict[str, TestCode] = {}
        for before, after in self._pairs.values():
            for code in after.values():
                if code.name and code.name not in before:
                    self._fresh.setdefault(code.bare_name, code)
        self._known = {code.name for before, _ in self._pairs.values() for code in before.values()}

    @property
    def files(self) -> frozenset[str]:
        """The paths that are compared here, so that no line of theirs has to be."""
        return frozenset(self._pairs)

    def proves(self, path: str, name: str) -> bool | None:
        """Whether a changed file's test of this name asserts what the code could fail; None where that cannot be told. Without a path,
        which not every report tells, any changed file's."""
        if path and path not in self._pairs:
            return None
        known = self._proving.setdefault(path, {})
        if not known:
            for _, after in [self._pairs[path]] if path else self._pairs.values():
                for code in after.values():
                    for called in _names(code):
                        known[called] = known.get(called, False) or code.proves
        return known.get(name, known.get(name.partition("/")[0]))  # Go's subtests stand behind a slash

    def weaknesses(self) -> Iterator[Weakness]:
        """What proves less than at base."""
        for source in self._unread:
            if source.before is not None:
                message = f"{source.path} could be parsed before and cannot any more, so nobody knows what its tests prove."
                yield Weakness(rule="unreadable-test", message=message, file=source.path)
        gained = Counter(text for path in self._pairs for text in self._gained(path))
        if self._deletions:
            yield from (deletion(path, code) for path, code in self.deleted())
        for path, (before, after) in self._pairs.items():
            for code in before.values():
                now = after.get(code.name) or self._moved(code)
                if now is not None and (now.text != code.text or not code.name):
                    yield from _Pair(path, code, now, gained).weaknesses()
                    used = code.text if code.name else " ".join(one.text for one in before.values())
                    yield from _stand_ins(path, code, now, used.split())
            for code in after.values():
                if code.name not in before:
                    yield from _vacuous(path, code.asserts)

    def _gained(self, path: str) -> Iterator[str]:
        before, after = self._pairs[path]
        for code in after.values():
            known = (
                Counter(one.text for one in before[code.name].asserts)
                if code.name in before
                else Counter[str]()
            )
            for one in code.asserts:
                if known[one.text]:
                    known[one.text] -= 1
                elif not one.suspensions:
                    yield one.text

    def _moved(self, code: TestCode) -> TestCode | None:
        """The function of this name in another changed file or class, where it was not before."""
        return self._fresh.get(code.bare_name) if code.name else None

    def deleted(self) -> Iterator[tuple[str, TestCode]]:
        """Tests that are in no changed file any more, under this name or with what they assert, each with its file."""
        for path, (before, after) in self._pairs.items():
            for code in before.values():
                is_there = code.name in after or self._moved(code) is not None
                if code.is_test and not is_there and not self._is_renamed(path, code):
                    yield path, code

    def _is_renamed(self, path: str, code: TestCode) -> bool:
        """Whether new tests of the file assert all that it asserted, or expect all that it expected."""
        if path not in self._new:
            tests = [
                one for one in self._pairs[path][1].values() if one.is_test and one.name not in self._known
            ]
            now = [one for test in tests for one in test.asserts]
            self._new[path] = {one.text for one in now}, {one.expected for one in now}
        texts, expected = {one.text for one in code.asserts}, {one.expected for one in code.asserts}
        return bool(texts) and (
            texts <= self._new[path][0] or ("" not in expected and expected <= self._new[path][1])
        )


class _Pair:
    """One function before and after."""

    def __init__(self, path: str, before: TestCode, after: TestCode, elsewhere: Counter[str]) -> None:
        self._path = path
        self._before = before
        self._after = after
        self._elsewhere = elsewhere

    def weaknesses(self) -> Iterator[Weakness]:
        lost, gained = list(self._before.asserts), list(self._after.asserts)
        for old, new in _same(lost, gained):
            yield from self._suspended(old, new)
        taken = _partners(lost, gained)
        for old, new in taken:
            yield from self._changed(old, new)
        gone = [old for old in lost if not self._is_elsewhere(old, [new for _, new in taken])]
        spare = len(set(self._after.rows) - set(self._before.rows))
        if len(gone) > spare:
            named = ", ".join(one.text for one in gone[:3])
            message = f"{self._path} asserts less than before: {len(gone)} gone from {self._name}, the first of them {named}."
            yield self._weakness("assertion-removed", message, self._after.line, gone[0].text)
        yield from _vacuous(self._path, gained)
        yield from self._rows(len(gained))

    @property
    def _name(self) -> str:
        return self._before.name or "the file"

    def _suspended(self, old: Assertion, new: Assertion) -> Iterator[Weakness]:
        for suspension in sorted(new.suspensions - old.suspensions):
            yield self._weakness(suspension, _SUSPENSIONS[suspension], new.line, new.text)

    def _changed(self, old: Assertion, new: Assertion) -> Iterator[Weakness]:
        yield from self._suspended(old, new)
        if new.strength is Strength.NOTHING:
            yield _empty(self._path, new)
        elif new.strength < old.strength:
            message = f"This asserts less than before: it was `{old.text}`."
            yield self._weakness("assertion-weakened", message, new.line, new.text)
        for name, value in new.tolerances.items():
            known = old.tolerances.get(name, STRICTEST.get(name, 0.0))
            if is_looser(name, value, known):
                message = f"The tolerance is looser than before: {name} {known:g} → {value:g}."
                yield self._weakness("tolerance-loosened", message, new.line, new.text)

    def _is_elsewhere(self, old: Assertion, taken: Sequence[Assertion]) -> bool:
        """Whether an assertion stands in another function now, or in one that asserts more at once."""
        if self._elsewhere[old.text]:
            self._elsewhere[old.text] -= 1
            return True
        return any(
            old.subject in new.text and old.expected in new.text and new.strength >= old.strength
            for new in taken
        )

    def _rows(self, gained: int) -> Iterator[Weakness]:
        before, after = Counter(self._before.rows), Counter(self._after.rows)
        lost, fresh = before - after, after - before
        if lost.total() > fresh.total() + gained:
            named = ", ".join(list(lost)[:3])
            message = f"{self._name} is run with {lost.total() - fresh.total()} cases fewer than before; gone: {named}."
            yield self._weakness("rows-removed", message, self._after.line, named)

    def _weakness(self, rule: str, message: str, line: int, evidence: str) -> Weakness:
        return Weakness(rule=rule, message=message, file=self._path, line=line, evidence=evidence)


def deletion(path: str, code: TestCode) -> Weakness:
    """That a test is gone."""
    message = f"{path} has fewer tests than before; gone: {code.name}."
    return Weakness(rule="tests-deleted", message=message, file=path)


def _names(code: TestCode) -> Iterator[str]:
    """What a report may call a test: with its class or groups, with some of them, or without."""
    yield code.name
    yield code.bare_name
    rest = code.name
    while " > " in rest:
        rest = rest.partition(" > ")[2]
        yield rest


_Pairs = list[tuple[Assertion, Assertion]]


def _matched(lost: list[Assertion], gained: list[Assertion], key: Callable[[Assertion], str]) -> _Pairs:
    """Pairs with the same key, the least held first; both lists are left with the rest."""
    by_key: dict[str, deque[Assertion]] = {}
    for one in sorted(gained, key=lambda one: len(one.suspensions)):
        if key(one):
            by_key.setdefault(key(one), deque()).append(one)
    pairs: _Pairs = []
    rest = []
    for old in lost:
        alike = by_key.get(key(old))
        if alike:
            pairs.append((old, alike.popleft()))
        else:
            rest.append(old)
    taken = {id(new) for _, new in pairs}
    lost[:], gained[:] = rest, [one for one in gained if id(one) not in taken]
    return pairs


def _same(lost: list[Assertion], gained: list[Assertion]) -> _Pairs:
    """Take the assertions that stand on both sides off both lists. A second copy that never runs takes nothing away."""
    return _matched(lost, gained, lambda one: one.text)


def _partners(lost: list[Assertion], gained: list[Assertion]) -> _Pairs:
    """What became of each lost assertion, if anything did: by what it looks at, by what it expects, by its place."""
    pairs = _matched(lost, gained, lambda one: one.subject)
    pairs += _matched(lost, gained, lambda one: one.expected)
    rest = list(zip(lost, gained, strict=False))
    del lost[: len(rest)], gained[: len(rest)]
    return pairs + rest


def _stand_ins(path: str, before: TestCode, after: TestCode, used: Sequence[str]) -> Iterator[Weakness]:
    """What was used as it is before, and has something in its place now."""
    for name, line in after.stand_ins.items():
        if name not in before.stand_ins and name in used:
            message = (
                f"{after.name or path} puts something else in the place of {name}, which it is there to test."
            )
            yield Weakness(rule="stand-in", message=message, file=path, line=line, evidence=name)


def _vacuous(path: str, asserts: Iterable[Assertion]) -> Iterator[Weakness]:
    yield from (_empty(path, one) for one in asserts if one.strength is Strength.NOTHING)


def _empty(path: str, one: Assertion) -> Weakness:
    message = "This assertion holds whatever the code does."
    return Weakness(rule="empty-assertion", message=message, file=path, line=one.line, evidence=one.text)
