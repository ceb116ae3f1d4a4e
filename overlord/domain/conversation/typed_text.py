"""Words of a chat as their author typed them, before the chat dressed them up."""

import html
import re

from overlord.domain.text.plain import visible
from overlord.domain.text.reference import issue_in

_ANGLES = re.compile(r"<([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'", "\u00a0": " "})


def typed(text: str) -> str:
    """What was typed: links, mentions and escapes as words, straight quotes, nothing unseen."""
    return html.unescape(_ANGLES.sub(_typed, visible(text))).translate(_QUOTES)


def _typed(found: re.Match[str]) -> str:
    """What stands for `<…>`: an address for what is about an issue or repository, else the words that are seen."""
    what, label = found[1], found[2] or ""
    if what[0] in "@#!":
        return f"{what[0] if what[0] != '!' else '@'}{(label or what[1:]).lstrip('@#')}"
    if issue_in(html.unescape(what)) or not label:
        return what
    return label
