"""Where the portfolio's files lie, from the top of OVERLORD_HOME. No name in a path can leave its directory."""

import re
from datetime import date

from overlord.domain.knowledge.note import DOCUMENT_NAME
from overlord.domain.text.reference import is_full_name

IDENTITY, USER, MEMORY = "IDENTITY.md", "USER.md", "MEMORY.md"
BRIEF_FILES = (IDENTITY, USER, MEMORY)
"""What people tell every session: who it works as, for whom, and what to have in mind."""
RULES = "rules.json"
ESCALATION_STATES = ("draft", "pending", "resolved")
KNOWLEDGE_KINDS = ("conventions", "preferences", "decisions", "patterns")
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_SPACE = r"spaces/[a-z0-9][a-z0-9_-]*/(?!\.\.?/)[a-z0-9._-]+"
_KIND = "|".join(KNOWLEDGE_KINDS)
_PLAN = rf"{_SPACE}/plans/{_SLUG.pattern}"
_PROSE = re.compile(
    rf"(?:(?:IDENTITY|USER|MEMORY)\.md|daily/[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}\.md|(?:{_SPACE}/)?knowledge/(?:{_KIND})\.md"
    rf"|(?:{_SPACE}/)?knowledge/documents/{DOCUMENT_NAME.pattern}"
    rf"|{_SPACE}/OVERVIEW\.md|{_PLAN}/plan\.md(?:\.new)?)"
)
_EXPORTED = re.compile(
    rf"(?:rules\.json|escalations/(?:{'|'.join(ESCALATION_STATES)})/e[0-9]{{1,18}}\.json|{_SPACE}/space\.json"
    rf"|{_PLAN}/initiative\.json|{_PLAN}/tasks/(?:\.highwatermark|[0-9]{{1,18}}\.json))"
)
PLACES = ("spaces", "knowledge", "daily", "escalations")
"""The directories that files are in."""


def is_prose(path: str) -> bool:
    """Whether a file of this path is one that people may write."""
    return _PROSE.fullmatch(path) is not None


def is_exported(path: str) -> bool:
    """Whether a file of this path is written by Overlord alone, from its rows."""
    return _EXPORTED.fullmatch(path) is not None


def space_directory(space: str) -> str:
    """A repository's own directory. Raises ValueError for what can be no repository's name."""
    if not is_full_name(space):
        raise ValueError(f"{space!r} can be no repository's name")
    return f"spaces/{space.casefold()}"


def overview(space: str) -> str:
    """What a repository is for, and its goals: written by people."""
    return f"{space_directory(space)}/OVERVIEW.md"


def knowledge(space: str, kind: str) -> str:
    """The notes of a kind: a repository's own, or with no repository those that count in all."""
    folder = f"{space_directory(space)}/" if space else ""
    return f"{folder}knowledge/{kind}s.md"


def documents(space: str) -> str:
    """The directory of the documents that are knowledge: of a repository, or with no repository of those that count in all."""
    folder = f"{space_directory(space)}/" if space else ""
    return f"{folder}knowledge/documents"


def document(space: str, name: str) -> str:
    """A document's file. Raises ValueError for a name that can be none's."""
    if DOCUMENT_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} can be no document's name")
    return f"{documents(space)}/{name}"


def space_export(space: str) -> str:
    return f"{space_directory(space)}/space.json"


def plan_directory(space: str, slug: str) -> str:
    """An initiative's directory. Raises ValueError."""
    if _SLUG.fullmatch(slug) is None:
        raise ValueError(f"{slug!r} can be no directory's name of an initiative")
    return f"{space_directory(space)}/plans/{slug}"


def plan(space: str, slug: str) -> str:
    return f"{plan_directory(space, slug)}/plan.md"


def initiative_export(space: str, slug: str) -> str:
    return f"{plan_directory(space, slug)}/initiative.json"


def task_export(space: str, slug: str, number: int) -> str:
    return f"{plan_directory(space, slug)}/tasks/{number}.json"


def high_watermark(space: str, slug: str) -> str:
    """The highest number that a task of an initiative ever had."""
    return f"{plan_directory(space, slug)}/tasks/.highwatermark"


def escalation_export(state: str, number: int) -> str:
    return f"escalations/{state}/e{number}.json"


def daily(day: date) -> str:
    """The briefing of a day."""
    return f"daily/{day.isoformat()}.md"
