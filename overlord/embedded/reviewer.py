"""The scripted model as a reviewer: what it says of a change when no play was written for the review."""

import json
import re
from collections.abc import Sequence
from typing import Any

from overlord.embedded.play import Play, Turn, say

REVIEW = "You review one change"
"""How a request for a review begins."""
VETTING = "You review one skill"
"""How a request to read a proposed skill begins."""
PLAIN_LANGUAGE = "You turn one message"
"""How a request to read a message in plain words begins."""
RETROSPECTIVE = "# Retrospective"
"""How a request to look back on a job begins."""
DEBUG = "# Debug"
"""How a request for hypotheses begins: what may have caused a failure."""
_QUESTIONS = re.compile(r'source="questions about tests">\n(.*?)\n</', re.DOTALL)
_FILES = re.compile(r'source="files of this part">\n(.*?)\n</', re.DOTALL)


def is_review(opening: str) -> bool:
    """Whether a conversation asks for a review."""
    return opening.startswith((REVIEW, VETTING))


def is_plain_language(opening: str) -> bool:
    """Whether a conversation asks which command a message means."""
    return opening.startswith(PLAIN_LANGUAGE)


def is_retrospective(opening: str) -> bool:
    """Whether a conversation asks what a job teaches."""
    return opening.startswith(RETROSPECTIVE)


def is_debug(opening: str) -> bool:
    """Whether a conversation asks what may have caused a failure."""
    return opening.startswith(DEBUG)


def no_hypotheses() -> Play:
    """A reader that has no idea."""
    return Play(turns=(say("The error says too little."),))


def nothing_learned() -> Play:
    """A reader that finds nothing to note."""
    return Play(turns=(say(json.dumps({"notes": []})),))


def nothing_understood() -> Play:
    """A reader that finds no command in a message."""
    return Play(turns=(say(json.dumps({"command": ""})),))


def finds(opening: str, findings: Sequence[dict[str, Any]], *, quote: str = "") -> Turn:
    """An answer in form that has read every file and found this. What is asked about tests is justified by `quote`, the issue's words,
    and without one by nothing; what is explained of a red test is believed."""
    match, asked = _FILES.search(opening), _QUESTIONS.search(opening)
    files = json.loads(match[1]) if match else []
    answer: dict[str, Any] = {"files_reviewed": files, "findings": list(findings)}
    if asked:
        questions = re.findall(r"^(\d+)\. (.*)", asked[1], re.MULTILINE)
        answer["claims"] = [
            {
                "number": int(number),
                "justified": bool(quote) or "The agent says: " in words,
                "quote": quote,
                "reason": "The issue says so." if quote else "The issue says nothing of that.",
            }
            for number, words in questions
        ]
    return say(json.dumps(answer))


def nothing_found(opening: str) -> Play:
    """A reviewer that holds nothing against the change."""
    return Play(turns=(finds(opening, ()),))
