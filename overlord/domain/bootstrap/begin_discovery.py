"""How a discovery begins: the bank's questions, filled in from what the code decides and from what documents say.

Only code makes an answer sure. A section of a document whose heading fits a question is a proposal that a person is still asked
about, in the document's own words; whatever it says is data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from overlord.domain.bootstrap.code_facts import CodeFact
from overlord.domain.bootstrap.documents import documents
from overlord.domain.bootstrap.survey import Survey
from overlord.domain.discovery.bank import (
    KIND_QUESTION,
    KIND_WORDS,
    BankQuestion,
    bank,
    kind_named,
    questions,
)
from overlord.domain.discovery.question import Confidence, Discovery, ProjectKind, Question, Status
from overlord.domain.discovery.sections import Section, compared, sections
from overlord.domain.text.plain import visible

GIVEN = "plan/documents/"
"""Where documents stand that a person gave."""
MOST_CHARS = 200_000
"""Of one document, that are looked through."""
MOST_TOTAL = 1_000_000
"""Of all documents together: those that say most are looked through first."""
MOST_TITLES = 2_000
"""Different headings that are compared with the questions'."""
MOST_ANSWER = 800
"""Of a section, that become an answer."""
_MOST_DOCUMENTS = 60
_MOST_TITLE_WORDS = 8
_NO_PROSE = ("[!", "![", "<", "|", "---", "===", ".. ", "```", "~~~", ":")
"""How lines begin that say nothing about a project: badges, pictures, markup, tables, options of directives."""
_SHORT = 3
"""Keywords as short as this are looked for as whole headings alone."""
_SUMMARY = "solution.idea"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A section that may answer a question."""

    path: str
    text: str
    is_exact: bool


def begin(survey: Survey, texts: Mapping[str, str]) -> Discovery:
    """The first state of a discovery. `texts` are the documents by path: the repository's, and given ones below `plan/documents/`."""
    read = _ordered(texts)
    kind, told = _kind(survey, read)
    titled = _titled(read)
    summary = _summary(read)
    facts = {item.topic: item for item in survey.facts}
    items = {item.id: item for item in bank().of(kind)}
    filled = []
    for question in questions(kind, asks_kind=survey.kind is ProjectKind.OTHER):
        item = items[question.id]
        found = told if item.id == KIND_QUESTION else _best(item, titled)
        found = found or (summary if item.id == _SUMMARY else None)
        if item.code in facts:
            filled.append(_decided(question, facts[item.code]))
        else:
            filled.append(_inferred(question, found) if found else question)
    return Discovery(kind=kind, state=survey.state, questions=tuple(filled))


def _ordered(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The documents, those that say most first: given ones, vision and architecture, README, the others."""
    paths = sorted(texts, key=lambda path: (not path.startswith(GIVEN), path.count("/"), path))
    ranked = {path: number for number, path in enumerate(documents(paths))}
    paths.sort(key=lambda path: (not path.startswith(GIVEN), ranked.get(path, len(ranked))))
    read, left = [], MOST_TOTAL
    for path in paths[:_MOST_DOCUMENTS]:
        text = texts[path][: min(MOST_CHARS, left)]
        left -= len(text)
        read.append((path, text))
    return read


def _kind(survey: Survey, read: Sequence[tuple[str, str]]) -> tuple[ProjectKind, _Found | None]:
    """The kind that the code shows, else the one documents speak of clearly, with what says so."""
    if survey.kind is not ProjectKind.OTHER:
        return survey.kind, None
    kind, is_clear = kind_named([text for _, text in read])
    if kind is ProjectKind.OTHER:
        return kind, None
    path = next(path for path, text in read if kind_named([text])[0] is not ProjectKind.OTHER)
    return kind if is_clear else ProjectKind.OTHER, _Found(
        path=path, text=KIND_WORDS[kind], is_exact=is_clear
    )


def _titled(read: Sequence[tuple[str, str]]) -> dict[str, _Found]:
    """By its heading, the first section with words below it."""
    titled: dict[str, _Found] = {}
    for path, text in read:
        for section in sections(text):
            title = compared(section.title)
            if not title or title in titled or len(title.split()) > _MOST_TITLE_WORDS:
                continue
            if len(titled) >= MOST_TITLES:
                return titled
            if body := _prose(section):
                titled[title] = _Found(path=path, text=body, is_exact=True)
    return titled


def _best(item: BankQuestion, titled: Mapping[str, _Found]) -> _Found | None:
    """The section whose heading is one of the question's, else the first whose heading has one among its words."""
    words = set(item.keywords)
    exact = next((found for title, found in titled.items() if title in words), None)
    if exact is not None:
        return exact
    phrases = [f" {word} " for word in item.keywords if len(word) > _SHORT]
    near = (found for title, found in titled.items() if any(word in f" {title} " for word in phrases))
    found = next(near, None)
    return replace(found, is_exact=False) if found else None


def _summary(read: Sequence[tuple[str, str]]) -> _Found | None:
    """What a README says first, below its title."""
    for path, text in read:
        if path.casefold().startswith("readme"):
            for section in sections(text)[:2]:
                if body := _prose(section):
                    return _Found(path=path, text=body.split("\n\n", 1)[0], is_exact=False)
    return None


def _prose(section: Section) -> str:
    """The first paragraphs of a section as they stand, without pictures and tables; empty where nothing is left."""
    kept: list[str] = []
    length = 0
    for line in section.lines:
        if length > MOST_ANSWER * 2:  # more than fits, so that a cut shows
            break
        if not line.lstrip().startswith(_NO_PROSE):
            kept.append(line[: MOST_ANSWER + 1])
            length += len(kept[-1]) + 1
    text = visible("\n".join(kept)).strip()
    return text if len(text) <= MOST_ANSWER else f"{text[:MOST_ANSWER].rsplit(None, 1)[0]} …"


def _decided(question: Question, fact: CodeFact) -> Question:
    return replace(
        question,
        status=Status.INFERRED,
        confidence=Confidence.HIGH,
        answer=fact.value,
        default="",
        rationale="",
        sources=(fact.source,),
        from_code=True,
    )


def _inferred(question: Question, found: _Found) -> Question:
    return replace(
        question,
        status=Status.INFERRED,
        confidence=Confidence.MEDIUM if found.is_exact else Confidence.LOW,
        answer=found.text,
        default="",
        rationale="",
        sources=(found.path[:300],),
    )
