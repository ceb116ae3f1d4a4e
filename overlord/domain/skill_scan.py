"""What in a skill's text could harm whoever follows it: findings by rule and line, of the file as it was given.

A text that forbids something in plain words, and nothing but that, is noted and held against nobody. No finding is ever
proof of the contrary: whatever this says, a person reads a skill before it counts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from overlord.domain.hidden_character import unseen
from overlord.domain.secret import find_secrets, redacted
from overlord.domain.skill_prohibition import is_forbidden, sentence
from overlord.domain.skill_reading import (
    LONGEST,
    LogicalLine,
    Reading,
    logical_lines,
    lookalike,
    names_in,
    readings,
    spelt_letters,
    words,
)
from overlord.domain.skill_rule import Level, Rule
from overlord.domain.skill_rule_command import COMMAND_RULES
from overlord.domain.skill_rule_speech import SPEECH_RULES
from overlord.domain.skill_rule_world import WORLD_RULES
from overlord.domain.text import visible

RULES: Sequence[Rule] = (*COMMAND_RULES, *WORLD_RULES, *SPEECH_RULES)
EVIDENCE_CHARS = 160
MOST_LINES = 3_000
_DISGUISED = " It is written so that it does not look like that."


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFinding:
    """One thing held against a skill, and where in its file."""

    rule: str
    level: Level
    message: str
    line: int | None = None
    evidence: str = ""
    """What stands there, for people: cut, nothing hidden in it, secrets redacted."""


def scan(text: str, node: yaml.Node | None = None) -> tuple[SkillFinding, ...]:
    """Read a file's text, and with its document what each value of it comes to; the gravest finding of a rule and line."""
    names = names_in(text)
    read = "\n".join(text.split("\n", MOST_LINES)[:MOST_LINES])
    gravest: dict[tuple[str, int | None], SkillFinding] = {}
    for finding in (*_hidden(text), *_found(read, node, names), *_fetched_then_run(read, names)):
        key = (finding.rule, finding.line)
        if key not in gravest or _GRAVITY[finding.level] > _GRAVITY[gravest[key].level]:
            gravest[key] = finding
    return tuple(
        sorted(gravest.values(), key=lambda item: (item.line or 0, -_GRAVITY[item.level], item.rule))
    )


_GRAVITY = {Level.NOTE: 0, Level.FLAG: 1, Level.REJECT: 2}


def _found(text: str, node: yaml.Node | None, names: dict[str, str]) -> Iterator[SkillFinding]:
    read: set[str] = set()
    for line in (*logical_lines(text), *_of_values(node)):
        if line.text in read:
            continue
        read.add(line.text)
        yield from _in_line(line, names)


def _of_values(node: yaml.Node | None) -> Iterator[LogicalLine]:
    """What the values of a document say where that is not what their lines show: quoted and folded ones."""
    if isinstance(node, yaml.ScalarNode) and node.style != "|":
        yield from (
            LogicalLine(node.start_mark.line + 1, line.text, line.header)
            for line in logical_lines(str(node.value))
        )
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _of_values(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _of_values(key)
            yield from _of_values(value)


def _in_line(line: LogicalLine, names: dict[str, str]) -> Iterator[SkillFinding]:
    for reading in readings(line.text, names):
        for rule in RULES:
            for match in rule.pattern.finditer(reading.text):
                if not _is_harmless(rule, reading.text, match):
                    yield _finding(rule, line, reading, match)
    if letters := spelt_letters(line.text):
        message = f"Letters are written as escapes here; they spell {visible(letters)[:80]!r}."
        yield _of("skill/disguise", Level.FLAG, message, line.number, line.text)
    for word in words(line.text):
        if lookalike(word):
            message = f"{visible(word)!r} mixes letters that look alike and are not the same."
            yield _of("skill/lookalike", Level.FLAG, message, line.number, line.text)
            break


def _is_harmless(rule: Rule, text: str, match: re.Match[str]) -> bool:
    """Whether what makes a rule's find harmless stands in the same sentence, and no address of others does."""
    if rule.unless is None:
        return False
    begins, ends = sentence(text, match.start(), match.end())
    excuse = rule.unless.search(text, begins, ends)
    if excuse is None:
        return False
    return not (_LOCAL.search(excuse[0]) and _ELSEWHERE.search(text))


def _finding(rule: Rule, line: LogicalLine, reading: Reading, match: re.Match[str]) -> SkillFinding:
    level, message = rule.level, rule.message
    if reading.disguised:
        message += _DISGUISED
    elif is_forbidden(line.header, reading.text, match.start(), match.end()):
        level, message = Level.NOTE, f"Forbidden here, so only noted: {message}"
    return _of(rule.name, level, message, line.number, line.text)


_LOCAL = re.compile(r"localhost|127\.0|0\.0\.0\.0")
_ELSEWHERE = re.compile(r"(?:https?|ftp)://(?!localhost|127\.0|0\.0\.0\.0|\[::1\])", re.IGNORECASE)
_SAVED = re.compile(
    r"\b(?:curl|wget|iwr|invoke-webrequest|aria2c)\b[^\n]{0,300}?(?:\s-o|\s-O|\s--output(?:-document)?|\s-OutFile|>)[ =]?\s*[\"']?(?P<file>[^\s\"';&|]{2,100})",
    re.IGNORECASE,
)
_BY_ADDRESS = re.compile(
    r"\b(?:wget|curl\s+(?:-\w+\s+)*-\w*O\w*|curl\s+--remote-name)\b[^\n]{0,300}?https?://[^\s\"'`]+/(?P<file>[\w.-]{2,80}\.(?:sh|py|pl|rb|js|bin|run|ps1|exe|out))\b",
    re.IGNORECASE,
)
_MOST_SAVED = 50


def _fetched_then_run(text: str, names: dict[str, str]) -> Iterator[SkillFinding]:
    """A file that one line fetches and the same or a later one runs."""
    lines = [(line, readings(line.text, names)[-1].text) for line in logical_lines(text)]
    saved: list[str] = []
    for line, said in lines:
        found = [match["file"] for pattern in (_SAVED, _BY_ADDRESS) for match in pattern.finditer(said)]
        saved = [*saved, *found][-_MOST_SAVED:]
        for file in saved:
            if file.startswith("/dev/"):
                continue
            name = re.escape(file.rsplit("/", 1)[-1])
            pattern = (
                rf"(?:\b(?:sh|bash|zsh|dash|source|python[\d.]*|perl|ruby|node|sudo|exec|nohup)\s+(?:-\S+\s+)*|\bchmod\s+\S*[x75]\S*\s+|"
                rf"(?:^|[;&|`]\s*|\brun\s+[`\"']?)(?:\./|/|~/|\.\s+))[\"']?(?:[\w.$/~{{}}-]*/)?{name}(?![\w-])"
            )
            if match := re.search(pattern, said):
                level = (
                    Level.NOTE
                    if is_forbidden(line.header, said, match.start(), match.end())
                    else Level.REJECT
                )
                message = f"This runs {visible(file)[:80]!r}, which was fetched just before."
                yield _of("skill/remote-code", level, message, line.number, line.text)


_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS = frozenset("\u200e\u200f\u061c")
_FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OFF_SCREEN = re.compile(r"\S[ \t]{80,}\S|^[ \t]{160,}\S")
_MANY_EMPTY = 30
_OPAQUE = re.compile(r"(?<![\w/+])[A-Za-z0-9+/_-]{160,}={0,2}(?![\w/+])")


def _hidden(text: str) -> Iterator[SkillFinding]:
    """What people who read the file do not see, or do not see as it is."""
    empty, is_turned = 0, _FROM_RIGHT.search(text) is not None
    for number, line in enumerate(text.split("\n")[:MOST_LINES], 1):
        empty = 0 if line.strip() else empty + 1
        if empty == _MANY_EMPTY:
            yield _of(
                "skill/hidden-text", Level.FLAG, "So many empty lines hide what comes after them.", number, ""
            )
        yield from _unseen_in(line, number, is_turned=is_turned)
        if _OFF_SCREEN.search(line):
            message = "So many blanks push what comes after them out of sight."
            yield _of("skill/hidden-text", Level.FLAG, message, number, line)
        if len(line) > LONGEST:
            message = f"A line of {len(line):,} characters is none that people read."
            yield _of("skill/hidden-text", Level.FLAG, message, number, line)
        if _OPAQUE.search(line):
            yield _of("skill/disguise", Level.FLAG, "Nobody can read what is encoded here.", number, line)
        for secret in find_secrets(line):
            if secret.certain:
                message = f"This line holds what looks like a secret: {secret.kind}."
                yield _of("skill/secret", Level.REJECT, message, number, line)
    if text.count("\n") >= MOST_LINES:
        yield _of("skill/hidden-text", Level.REJECT, "It has more lines than are read.", None, "")


def _unseen_in(line: str, number: int, *, is_turned: bool) -> Iterator[SkillFinding]:
    """`is_turned`: the file has letters of a script that is written from right to left."""
    for found in unseen(line):
        chars = set(line[found.start : found.end])
        if chars <= _MARKS and is_turned:
            continue
        if chars & _TURNS and is_turned and not chars & frozenset("\u202d\u202e"):
            level, message = (
                Level.FLAG,
                "Characters here turn the direction in which a part of the line is read.",
            )
        elif chars & _TURNS:
            level, message = Level.REJECT, "Characters here turn round what the line says."
        elif chars <= {"\ufeff"} and number == 1 and found.start == 0:
            continue
        elif chars <= {"\xad"}:
            level, message = Level.FLAG, "A character here is not seen."
        else:
            level, message = Level.REJECT, f"Characters here are not seen; they say {found.said[:80]!r}."
        yield _of("skill/hidden-text", level, message, number, line)


def _of(rule: str, level: Level, message: str, line: int | None, evidence: str) -> SkillFinding:
    shown = redacted(" ".join(visible(evidence).split()))[:EVIDENCE_CHARS]
    return SkillFinding(rule=rule, level=level, message=message, line=line, evidence=shown)
