"""The scripted model as a reviewer: what it says of a change when no play was written for the review."""

import json
import re
from collections.abc import Sequence
from typing import Any

from overlord.embedded.play import Play, Turn, say

REVIEW = "You review one change"
"""How a request for a review begins."""
_FILES = re.compile(r'source="files of this part">\n(.*?)\n</', re.DOTALL)


def is_review(opening: str) -> bool:
    """Whether a conversation asks for a review."""
    return opening.startswith(REVIEW)


def finds(opening: str, findings: Sequence[dict[str, Any]]) -> Turn:
    """An answer in form that has read every file and found this."""
    match = _FILES.search(opening)
    files = json.loads(match[1]) if match else []
    return say(json.dumps({"files_reviewed": files, "findings": list(findings)}))


def nothing_found(opening: str) -> Play:
    """A reviewer that holds nothing against the change."""
    return Play(turns=(finds(opening, ()),))
