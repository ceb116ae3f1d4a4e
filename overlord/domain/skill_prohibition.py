"""Whether a sentence forbids what it names, and does nothing else with it.

Good skills name bad commands to warn of them. Between the prohibition and what is named stand words of a short list and
no others, so that "never forget to run" is none; a sentence that takes anything back is none either.
"""

import re

from overlord.domain.skill_rule import any_of

_FORBIDS = (
    r"(?:never(?: ever)?|do not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|avoid|nobody may|no one may|"
    r"not allowed to|forbidden(?: to)?|there is no reason to|no(?=\s*$|\s[`\"']))"
)
_MENTIONS = r"(?:reject|flag|report|look(?: out)? for|search for|grep for|watch for|beware of|forbid|refuse|warn about|treat|find)"
_WORDS = any_of(
    r"ever runs? running used? uses using pipes? piping calls? calling execut(?:e|ing) writ(?:e|ing) add(?:ing)? past(?:e|ing)",
    r"suggest recommend accept allow introduce copy commit(?:ting)? print(?:ing)? echo log(?:ging)? pass set ship leave read(?:ing)?",
    r"rely on like such as things? a an the any all anything something of in or new raw commands? lines? code patterns? scripts?",
    r"output steps? changes? that which contains? says? do following e\.g\. your own our secrets? values? sudo cd texts?",
    r"sentences? phrases? workflows? dockerfiles? for every each to with",
)
_BETWEEN = rf"(?:[\s`\"'*_(,/]|\b{_WORDS}\b)*"
_OTHERS = r"(?:`[^`\n]{1,200}`\s*(?:,?\s*(?:or|nor|and)\b|,)\s*)*"
"""What is forbidden in the same breath."""
_BEFORE = re.compile(
    rf"(?:\b{_FORBIDS}|(?:^\s*|[.!?;]\s+|[-*]\s+|\d[.)]\s+){_MENTIONS})\b{_BETWEEN}{_OTHERS}$", re.IGNORECASE
)
_HEADER = re.compile(rf"^\W*(?:{_FORBIDS}|{_MENTIONS})\b{_BETWEEN}:$", re.IGNORECASE)
_ITEM = re.compile(rf"\s*(?:[-*+]|\d+[.)])\s+{_OTHERS}[`\"']*")
_TAKEN_BACK = re.compile(
    r"\b(?:unless|except|but|otherwise|until|only if|however|apart from|always|instead,? (?:run|use) (?:curl|wget)|"
    r"(?:and|then|to)\s+(?:run|execute|use|apply|follow|do|start|try|repeat))\b",
    re.IGNORECASE,
)
_TWICE = re.compile(rf"\b(?:{_FORBIDS}|not|hesitate|forget|fail|afraid|stop|skip|without)\b", re.IGNORECASE)
_SPAN = re.compile(r"`[^`\n]{1,400}`")
_SENTENCE_END = re.compile(r"[.!?;:](?:\s|$)")


def is_forbidden(header: str, text: str, start: int, end: int) -> bool:
    """Whether a sentence does nothing with what it names but forbid it, or tell to look for it."""
    for span in _SPAN.finditer(text):
        if span.start() <= start < span.end():
            start, end = span.start(), max(end, span.end())
    begins, ends = sentence(text, start, end)
    before = text[begins:start]
    if _TAKEN_BACK.search(before) or _TAKEN_BACK.search(text, end, ends):
        return False
    for clause in (before, before.rpartition(",")[2]):
        if _BEFORE.search(clause) and len(_TWICE.findall(clause)) <= 1:
            return True
    is_item = _ITEM.fullmatch(text[:start]) is not None
    return is_item and _HEADER.match(header) is not None and len(_TWICE.findall(header)) <= 1


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence begins and ends that a part of a line is in."""
    begins = max((match.end() for match in _SENTENCE_END.finditer(text, 0, start)), default=0)
    stops = _SENTENCE_END.search(text, end)
    return begins, stops.start() if stops else len(text)
