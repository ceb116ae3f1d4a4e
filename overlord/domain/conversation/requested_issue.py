"""The issue that a request becomes: its title, and its text as the person wrote it, in which nobody is called and nothing is hidden."""

import re

from overlord.domain.conversation.issue_request import InitMode, IssueRequest
from overlord.domain.pause import name_of
from overlord.domain.text.hidden_text import without_hidden
from overlord.domain.text.plain import defused_line, plain_line

MOST_TITLE = 100
_CODE = re.compile(
    r"(?P<mark>`{3,}|~{3,})[\s\S]*?(?:(?P=mark)|\Z)|(?P<span>`{1,2})(?!`)[^\n]*?(?P=span)(?!`)"
)
_MENTION = re.compile(r"(?<![\w`/.@])@[A-Za-z0-9][\w-]*(?:/[\w.-]+)?")


def title_of(requirement: str) -> str:
    """Its first line; `Untitled` where that has no words."""
    first = next((line for line in requirement.splitlines() if line.strip(" #\t")), "")
    return plain_line(first.strip(" #\t"), limit=MOST_TITLE) or "Untitled"


def init_title(space: str, mode: InitMode) -> str:
    """Of an issue whose job makes or reviews a repository's contract."""
    return f"Review the contract of {space}" if mode is InitMode.REVIEW else f"Propose a contract for {space}"


def init_text(mode: InitMode, *, discovers: bool) -> str:
    """What its job is to do, for people who read the issue."""
    if mode is InitMode.REVIEW:
        does = "The architect reads the contract that is there and what was experienced under it, and proposes what to change."
    else:
        does = "The architect looks at the repository and proposes the contract that work here goes by."
    asks = "What it cannot know, it asks in the thread of its job." if discovers else "It asks no questions."
    return f"{does} {asks} A person confirms the contract before it is committed."


def issue_text(request: IssueRequest, *, at_number: int | None = None) -> str:
    """The text of the issue; its last line is what it is found by. `at_number` is the issue where it was asked for."""
    interface = request.actor.partition(":")[0]
    place = f" at #{at_number}" if at_number is not None else ""
    by = defused_line(name_of(request.actor))
    words = _uncalled(without_hidden(request.body).text.strip())
    return f"{words}\n\nAsked for by {by} ({interface}){place} · Overlord's request {request.key}"


def _uncalled(text: str) -> str:
    """With people's names as code where they are not: Overlord calls nobody for somebody else, and no letter is changed."""
    made, at = list[str](), 0
    for code in _CODE.finditer(text):
        made += [_MENTION.sub(r"`\g<0>`", text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*made, _MENTION.sub(r"`\g<0>`", text[at:])])
