"""A changed test file against itself at base, function by function and assertion by assertion: what proves less than before.

Wording and layout do not count, and neither does a value that is expected now and was not before: whether that is right the runs and
the review say (`comparison`, `claim`). Moved, renamed and merged assertions are followed as far as their words are the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from overlord.domain.syntax import language_of, parse
from overlord.domain.testcode import STRICTEST, Assertion, Held, Strength, TestCode, Weakness, is_looser
from overlord.domain.testcode_go import read_go
from overlord.domain.testcode_python import read_python
from overlord.domain.testcode_script import read_script

Codes = Mapping[str, TestCode]
_HELD = {
    Held.SWALLOWED: "A failure of this assertion is caught and goes unnoticed.",
    Held.CONDITIONAL: "This is asserted only under a condition now.",
    Held.UNREACHED: "The test leaves before it checks this.",
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
    except RecursionError:
        return None


class Compared:
    """Every changed test file that could be parsed on both sides."""

    def __init__(self, sources: Iterable[Source], *, deletions: bool = True) -> None:
        """`deletions`: whether tests that are gone are named here, and not by what the runs say of them."""
        self._deletions = deletions
        self._pairs: dict[str, tuple[Codes, Codes]] = {}
        self._unread: list[Source] = []
        for source in sources:
            before = (
                read_tests(source.old_path or source.path, source.before) if source.before is not None else {}
            )
            after = read_tests(source.path, source.after) if source.after is not None else {}
            if before is not None and after is not None:
                self._pairs[source.path] = (before, after)
            elif before is not None and language_of(source.path):
                self._unread.append(source)
        self._known = {code.name for before, _ in self._pairs.values() for code in before.values()}

    @property
    def files(self) -> frozenset[str]:
        """The paths that are compared here, so that no line of theirs has to be."""
        return frozenset(self._pairs)

    def proves(self, path: str, name: str) -> bool | None:
        """Whether a changed file's test of this name asserts what the code could fail; None where that cannot be told. Without a path,
        which not every report tells, any changed file's."""
        pairs = [self._pairs[path]] if path in self._pairs else [] if path else list(self._pairs.values())
        wanted = name.partition("/")[0]  # of Go's, which names its subtests so
        found = [
            code
            for _, after in pairs
            for code in after.values()
            if wanted in {code.name, code.bare_name} or code.name.endswith(f" > {name}") or code.name == name
        ]
        return any(code.proves for code in found) if found else None

    def weaknesses(self) -> Iterator[Weakness]:
        """What proves less than at base."""
        for source in self._unread:
            if source.before is not None:
                message = f"{source.path} could be parsed before and cannot any more, so nobody knows what its tests prove."
                yield Weakness(rule="unreadable-test", message=message, file=source.path)
        gained = Counter(text for path in self._pairs for text in self._gained(path))
        for path, (before, after) in self._pairs.items():
            for code in before.values():
                now = after.get(code.name) or self._moved(code)
                if now is None:
                    yield from self._deleted(path, code)
                elif now.text != code.text or not code.name:
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
                elif not one.held:
                    yield one.text

    def _moved(self, code: TestCode) -> TestCode | None:
        """The function of this name in another changed file or class, where it was not before."""
        for before, after in self._pairs.values():
            for now in after.values():
                if now.bare_name == code.bare_name and now.name and now.name not in before:
                    return now
        return None

    def _deleted(self, path: str, code: TestCode) -> Iterator[Weakness]:
        if not self._deletions or not code.is_test or self._is_renamed(path, code):
            return
        message = f"{path} has fewer tests than before; gone: {code.name}."
        yield Weakness(rule="tests-deleted", message=message, file=path)

    def _is_renamed(self, path: str, code: TestCode) -> bool:
        """Whether new tests of the file assert all that it asserted, or expect all that it expected."""
        fresh = [one for one in self._pairs[path][1].values() if one.is_test and one.name not in self._known]
        now = [one for test in fresh for one in test.asserts]
        texts, expected = {one.text for one in code.asserts}, {one.expected for one in code.asserts}
        if not texts:
            return False
        return texts <= {one.text for one in now} or (
            "" not in expected and expected <= {one.expected for one in now}
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
            yield from self._held(old, new)
        taken = list(_partners(lost, gained))
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

    def _held(self, old: Assertion, new: Assertion) -> Iterator[Weakness]:
        for held in sorted(new.held - old.held):
            yield self._weakness(held, _HELD[held], new.line, new.text)

    def _changed(self, old: Assertion, new: Assertion) -> Iterator[Weakness]:
        yield from self._held(old, new)
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


def _same(lost: list[Assertion], gained: list[Assertion]) -> Iterator[tuple[Assertion, Assertion]]:
    """Take the assertions that stand on both sides off both lists."""
    by_text: dict[str, list[Assertion]] = {}
    for one in gained:
        by_text.setdefault(one.text, []).append(one)
    for old in list(lost):
        if alike := by_text.get(old.text):
            # The one that is held the least: a second copy that never runs takes nothing away.
            new = min(alike, key=lambda one: len(one.held))
            alike.remove(new)
            lost.remove(old)
            gained.remove(new)
            yield old, new


def _partners(lost: list[Assertion], gained: list[Assertion]) -> Iterator[tuple[Assertion, Assertion]]:
    """What became of each lost assertion, if anything did: by what it looks at, by what it expects, by its place."""
    for alike in (
        lambda old, new: old.subject == new.subject,
        lambda old, new: bool(old.expected) and old.expected == new.expected,
        lambda _old, _new: True,
    ):
        for old in list(lost):
            new = next((one for one in gained if alike(old, one)), None)
            if new is not None:
                lost.remove(old)
                gained.remove(new)
                yield old, new


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
