"""Spec: the one file that was changed is the specification, with its sections in order, each with content, and criteria that say
something which can be measured."""

import re

from overlord.domain.disciplines.arguments import DEFAULT_OUTPUT
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.verification.seen import Needed, Seen
from overlord.domain.scope.check import SYMLINK_MODE
from overlord.domain.text.markdown_sections import Section, compared, sections
from overlord.domain.text.plain import visible

SECTIONS = (
    "Problem statement",
    "Success criteria",
    "Constraints",
    "Out of scope",
    "Technical approach",
    "Risks",
)
"""Of `config/prompts/disciplines/specification.md`."""
CRITERIA = "Success criteria"
MOST_BYTES = 1_000_000
MOST_CRITERION = 2_000
_TASK = re.compile(r"\s*[-*+] \[[ xX]\](?:\s+(.*))?")
_MARKS = re.compile(r"[^\w\s%-]+")
_FILLER = frozenset(
    [
        "the",
        "a",
        "an",
        "it",
        "is",
        "are",
        "be",
        "must",
        "should",
        "shall",
        "will",
        "has",
        "have",
        "to",
        "that",
        "this",
        "everything",
        "all",
        "code",
        "page",
        "app",
        "application",
        "system",
        "feature",
        "result",
        "output",
        "and",
        "or",
        "very",
        "as",
        "expected",
        "performance",
        "user",
        "users",
        "ui",
        "api",
        "tests",
        "test",
    ]
)
_VAGUE = frozenset(
    [
        "fast",
        "faster",
        "quick",
        "quickly",
        "slow",
        "works",
        "work",
        "working",
        "good",
        "better",
        "best",
        "nice",
        "well",
        "clean",
        "simple",
        "easy",
        "intuitive",
        "robust",
        "reliable",
        "scalable",
        "secure",
        "efficient",
        "performant",
        "correct",
        "correctly",
        "properly",
        "done",
        "ok",
        "okay",
        "fine",
        "friendly",
        "user-friendly",
        "maintainable",
        "readable",
        "modern",
        "tbd",
        "todo",
        "fixme",
        "placeholder",
    ]
)

_PLACEHOLDERS = frozenset({"tbd", "todo", "fixme", "xxx", "placeholder", "lorem", "ipsum", "_", "%"})
"""Words that hold a place until something is said."""


def output_path(seen: Seen) -> str:
    """Where the specification belongs, from the repository's root."""
    return seen.path(seen.text("output_path") or DEFAULT_OUTPUT)


def judge_spec(seen: Seen) -> Verification:
    """Whether a specification was written."""
    path = output_path(seen)
    content = seen.head.get(path)
    if content is None or path not in seen.touched:
        what = "was not changed" if content is not None else "is not there"
        return Verification(verified=False, why=f"The specification {visible(path)} {what}.")
    if others := sorted(seen.touched - {path}):
        said = f"It changed more than the specification: {', '.join(others[:5])}."
        return Verification(verified=False, why=visible(said))
    if any(change.new_mode == SYMLINK_MODE for change in seen.changes):
        return Verification(verified=False, why=f"The specification {visible(path)} is a link, and no file.")
    try:
        text = content[:MOST_BYTES].decode()
    except UnicodeDecodeError:
        return Verification(verified=False, why=f"The specification {visible(path)} is no text in UTF-8.")
    found = specified(text)
    if problem := _missing(found) or _out_of_order(found) or _unmeasurable(found[compared(CRITERIA)]):
        return Verification(verified=False, why=visible(problem))
    number = len(criteria_of(found[compared(CRITERIA)]))
    return Verification(
        verified=True,
        why=f"{visible(path)} is there with its {len(SECTIONS)} sections and {number} success {'criterion' if number == 1 else 'criteria'}.",
    )


def needed_for_spec(seen: Seen) -> Needed:
    """The specification."""
    return Needed(head=frozenset({output_path(seen)}))


def specified(text: str) -> dict[str, Section]:
    """The sections of a specification by their headings as they are compared, each with all that stands under it. Of two with one
    heading the first counts."""
    found: dict[str, Section] = {}
    wanted = {compared(name) for name in SECTIONS}
    now: Section | None = None
    for section in sections(text):
        key = compared(section.heading)
        if key in wanted:
            now = section
            found.setdefault(key, section)
        elif now is not None:
            now.lines += [section.heading, *section.lines]
    return found


def criteria_of(section: Section) -> tuple[str, ...]:
    """The criteria of a section: the items of its lists that have a box."""
    items = (_TASK.fullmatch(line[:MOST_CRITERION]) for line in section.lines)
    return tuple((item[1] or "").strip() for item in items if item)


def is_vague(criterion: str) -> bool:
    """Whether a criterion says nothing but that something is good: one of the words for that, and else only words that say nothing."""
    words = _MARKS.sub(" ", criterion.casefold()).split()
    return not set(words) - _FILLER - _VAGUE


def is_empty(text: str) -> bool:
    """Whether nothing is said: no words, or words that only hold a place."""
    return not set(_MARKS.sub(" ", text.casefold()).replace("-", " ").split()) - _PLACEHOLDERS


def _missing(found: dict[str, Section]) -> str:
    missing = [name for name in SECTIONS if compared(name) not in found]
    if missing:
        return f"The specification lacks {', '.join(missing)}."
    texts = {name: "\n".join(found[compared(name)].lines) for name in SECTIONS}
    empty = [
        name for name, text in texts.items() if (not text.strip() if name == CRITERIA else is_empty(text))
    ]
    return f"Nothing stands under {', '.join(empty)}." if empty else ""


def _out_of_order(found: dict[str, Section]) -> str:
    numbers = [found[compared(name)].number for name in SECTIONS]
    return (
        "" if numbers == sorted(numbers) else f"The sections are not in their order: {', '.join(SECTIONS)}."
    )


def _unmeasurable(section: Section) -> str:
    criteria = criteria_of(section)
    if not criteria:
        return "The success criteria are no list with boxes: one line each, as `- [ ] …`."
    vague = [one or "(empty)" for one in criteria if is_vague(one)]
    if not vague:
        return ""
    return f"What is not measurable is no criterion: {'; '.join(vague[:5])}. Say what is seen, and how."
