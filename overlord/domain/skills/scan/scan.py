"""What in a skill's text could harm whoever follows it: findings by rule and line, of the file as it was given.

A text that forbids something in plain words, and nothing but that, is noted and held against nobody. No finding is ever
proof of the contrary: whatever this says, a person reads a skill before it counts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import yaml

from overlord.domain.skills.finding import SkillFinding, shown_finding
from overlord.domain.skills.scan.fetched import fetched_then_run
from overlord.domain.skills.scan.hidden import MOST_LINES, hidden_in
from overlord.domain.skills.scan.line import LogicalLine, comments, logical_lines, paragraphs
from overlord.domain.skills.scan.prohibition import forbidden, sentence
from overlord.domain.skills.scan.reading import (
    has_many_blanks,
    lookalike,
    names_in,
    outgrows,
    readings,
    seen,
    spelt_letters,
    words,
)
from overlord.domain.skills.scan.rule import Level, Rule
from overlord.domain.skills.scan.rules_command import COMMAND_RULES
from overlord.domain.skills.scan.rules_intent import INTENT_RULES
from overlord.domain.skills.scan.rules_override import OVERRIDE_RULES
from overlord.domain.skills.scan.rules_platform import PLATFORM_RULES
from overlord.domain.skills.scan.rules_program import PROGRAM_RULES
from overlord.domain.skills.scan.rules_speech import INSTRUCTION_RULES
from overlord.domain.skills.scan.rules_world import WORLD_RULES
from overlord.domain.skills.scan.slow_pattern import slow_patterns
from overlord.domain.text.plain import visible

ALL_PROSE_RULES: Sequence[Rule] = (*INSTRUCTION_RULES, *OVERRIDE_RULES, *INTENT_RULES)
RULES: Sequence[Rule] = (*ALL_PROSE_RULES, *COMMAND_RULES, *PROGRAM_RULES, *WORLD_RULES, *PLATFORM_RULES)
_MIDST = re.compile(
    r"\b(?:cannot|can|could|may|might|not|never|who|that|which|they|people|nobody|would)$", re.IGNORECASE
)
"""After which words a line goes on with what somebody else does, or nobody."""
_IN_WORDS = re.compile(r"[\w\s,.'’-]+")
_DISGUISED = " It is written so that it does not look like that."
_SHOWN_APART = 12
MANY_FINDINGS = 200
"""After so many of a file, only what is graver than all of them is looked for: the verdict is the same."""
_GRAVITY = {Level.NOTE: 0, Level.FLAG: 1, Level.REJECT: 2}


@dataclass(frozen=True, slots=True)
class _Find:
    """What a rule found in one reading of a line."""

    rule: int
    text: str
    start: int
    end: int
    disguised: bool

    @property
    def key(self) -> tuple[int, str]:
        """The same for what a rule finds in a line, and in the paragraph the line is a part of."""
        return self.rule, self.text[self.start : self.end][:_SHOWN_APART]

    @property
    def is_prose(self) -> bool:
        return (
            self.rule < len(ALL_PROSE_RULES)
            or _IN_WORDS.fullmatch(self.text, self.start, self.end) is not None
        )

    @property
    def begins_prose(self) -> bool:
        """Whether it is the first that an agent is told in its line."""
        return self.is_prose and not self.text[: self.start].strip()


def scan(text: str, node: yaml.Node | None = None) -> tuple[SkillFinding, ...]:
    """Read a file's text, and with its document what each value of it comes to; the gravest finding of a rule and line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    names = names_in(text)
    read = "\n".join(text.split("\n", MOST_LINES)[:MOST_LINES])
    gravest: dict[tuple[str, int | None], SkillFinding] = {}
    for finding in (*hidden_in(text), *_Reader(names).found(read, node)):
        key = (finding.rule, finding.line)
        if key not in gravest or _GRAVITY[finding.level] > _GRAVITY[gravest[key].level]:
            gravest[key] = finding
    return tuple(
        sorted(gravest.values(), key=lambda item: (item.line or 0, -_GRAVITY[item.level], item.rule))
    )


class _Reader:
    """Reads the lines of one file; what was found in a text is known when it comes again."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._known: dict[tuple[str, bool], tuple[_Find, ...]] = {}
        self._gravest: dict[tuple[str, int | None], int] = {}
        self._gravest_of_all = 0

    def found(self, text: str, node: yaml.Node | None) -> Iterator[SkillFinding]:
        """What there is in a text, and how grave the gravest is of each rule and line."""
        for finding in self._found(text, node):
            key, gravity = (finding.rule, finding.line), _GRAVITY[finding.level]
            self._gravest[key] = max(gravity, self._gravest.get(key, 0))
            self._gravest_of_all = max(gravity, self._gravest_of_all)
            yield finding

    def _is_known(self, line: LogicalLine, find: _Find) -> bool:
        """Whether a find can be no graver than what is known of its rule and line, or of a file with much in it."""
        rule = RULES[find.rule]
        if len(self._gravest) >= MANY_FINDINGS:
            return _GRAVITY[rule.level] <= self._gravest_of_all
        known = self._gravest.get((rule.name, line.number_at(find.start)), -1)
        return _GRAVITY[rule.level] <= known and not find.disguised

    def _found(self, text: str, node: yaml.Node | None) -> Iterator[SkillFinding]:
        """A line that is a part of a paragraph is judged as that part: with the sentence it is in."""
        lines = list(map(_as_seen, logical_lines(text)))
        wholes = list(map(_as_seen, (*_of_values(node), *comments(text))))
        judged = [(whole, find) for whole in wholes for find in self._finds(whole)]
        settled = {(find.key, *whole.span_at(find.start)) for whole, find in judged if not find.disguised}
        ranges = [place for place in settled if place[1] != place[2]]
        continued = dict(place for whole in wholes for place in whole.continued)
        undone: set[tuple[int, str]] = set()
        alone = [(line, find) for line in lines for find in self._finds(line)]
        for line, find in alone:
            number = line.number_at(find.start)
            is_settled = (find.key, number, number) in settled or any(
                key == find.key and first <= number <= last for key, first, last in ranges
            )
            if (is_settled and not find.disguised) or self._is_known(line, find):
                continue
            is_part = find.begins_prose and number in continued
            if is_part and _MIDST.search(continued[number]):
                continue
            for finding in _judged(line, find):
                undone |= {find.key} if find.disguised else set()
                yield _flagged(finding) if is_part else finding
        for whole, find in judged:
            if (not find.disguised or find.key not in undone) and not self._is_known(whole, find):
                yield from _judged(whole, find)
        for read in (*lines, *wholes):
            yield from _strange_letters(read)
            yield from _slow(read)
            if outgrows(read.text, self._names):
                message = "This line comes to more than people read of it, once its names are filled in."
                yield shown_finding("skill/disguise", Level.REJECT, message, read.number, read.text)
        yield from fetched_then_run(lines, wholes, self._names)

    def _finds(self, line: LogicalLine) -> tuple[_Find, ...]:
        key = (line.text, line.is_code)
        if key not in self._known:
            rules = ALL_PROSE_RULES if line.is_code else RULES
            self._known[key] = tuple(_finds(line.text, rules, self._names))
        return self._known[key]


def _finds(text: str, rules: Sequence[Rule], names: Mapping[str, str]) -> Iterator[_Find]:
    """What there is in a line as it stands, and what more there is once its disguises are taken off."""
    plain: Counter[tuple[int, str]] = Counter()
    for reading in readings(text, names):
        left = Counter(plain)
        for number, rule in enumerate(ALL_PROSE_RULES if reading.in_words else rules):
            for match in rule.pattern.finditer(reading.text):
                key = (number, match[0])
                if not reading.disguised:
                    plain[key] += 1
                elif left[key]:
                    left[key] -= 1
                    continue
                yield _Find(number, reading.text, match.start(), match.end(), reading.disguised)


def _flagged(finding: SkillFinding) -> SkillFinding:
    """The same for what only looks like the beginning of a sentence: people are to look at it."""
    return replace(finding, level=Level.FLAG) if finding.level is Level.REJECT else finding


def _as_seen(line: LogicalLine) -> LogicalLine:
    """The same with its seams where they are in what is read of it."""
    if len(line.seams) < 2 or (line.text.isascii() and not has_many_blanks(line.text)):
        return line
    places = [place for place, _ in line.seams]
    parts = [line.text[at:to] for at, to in zip(places, [*places[1:], len(line.text)], strict=True)]
    begins = accumulate((len(seen(part)) for part in parts), initial=0)
    return replace(line, seams=tuple(zip(begins, (number for _, number in line.seams), strict=False)))


def _of_values(node: yaml.Node | None) -> Iterator[LogicalLine]:
    """What the values of a document say where that is not what their lines show: quoted, folded and wrapped ones."""
    if isinstance(node, yaml.ScalarNode):
        first, last = node.start_mark.line + 1, node.end_mark.line + 1
        if node.style == "|":
            yield from paragraphs(str(node.value), first + 1)
            return
        for line in (*logical_lines(str(node.value)), *paragraphs(str(node.value))):
            yield LogicalLine(first, line.text, line.header, last=last, is_code=line.is_code)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _of_values(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _of_values(key)
            yield from _of_values(value)


def _judged(line: LogicalLine, find: _Find) -> Iterator[SkillFinding]:
    rule = RULES[find.rule]
    if _is_harmless(rule, find):
        return
    level, message = rule.level, rule.message
    number = line.number if find.disguised else line.number_at(find.start)
    if find.disguised:
        message += _DISGUISED
    else:
        prohibition = forbidden(line.header, find.text, find.start, find.end, is_prose=find.is_prose)
        level, message = prohibition.of(level, message)
    yield shown_finding(rule.name, level, message, number, line.text)


def _strange_letters(line: LogicalLine) -> Iterator[SkillFinding]:
    if letters := spelt_letters(line.text):
        message = f"Letters are written as escapes here; they spell {visible(letters)[:80]!r}."
        yield shown_finding("skill/disguise", Level.FLAG, message, line.number, line.text)
    for word in words(line.text):
        if lookalike(word):
            message = f"{visible(word)!r} mixes letters that look alike and are not the same."
            yield shown_finding("skill/lookalike", Level.FLAG, message, line.number, line.text)
            break


def _slow(line: LogicalLine) -> Iterator[SkillFinding]:
    for start, pattern in slow_patterns(line.text):
        begins, ends = sentence(line.text, start, start + len(pattern))
        if not _WARNS.search(line.text, begins, ends):
            message = (
                f"{visible(pattern)[:80]!r} can take longer than anybody waits, on a text made for that."
            )
            yield shown_finding("skill/slow-pattern", Level.FLAG, message, line.number_at(start), line.text)


_WARNS = re.compile(
    r"\b(?:never|avoid|must not|do not|don['’]t|exponential\w*|catastrophic\w*|backtrack\w*|explod\w*)\b",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"localhost|127\.0|0\.0\.0\.0")
_ELSEWHERE = re.compile(r"(?:https?|ftp)://(?!localhost|127\.0|0\.0\.0\.0|\[::1\])", re.IGNORECASE)


def _is_harmless(rule: Rule, find: _Find) -> bool:
    """Whether what makes a rule's find harmless stands in the same sentence, and no address of others does."""
    if rule.unless is None:
        return False
    begins, ends = sentence(find.text, find.start, find.end)
    excuse = rule.unless.search(find.text, begins, ends)
    if excuse is None:
        return False
    return not (_LOCAL.search(excuse[0]) and _ELSEWHERE.search(find.text))
