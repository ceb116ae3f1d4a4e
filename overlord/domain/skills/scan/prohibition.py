"""Whether a sentence forbids what it names, and does nothing else with it.

Good skills name bad commands to warn of them. Between the prohibition and what is named, and after that, stand words of short
lists and no others, so that "never forget to run" is none. What looks like a prohibition and says more than that is shown to
people; a sentence that takes anything back is none.
"""

import re
from enum import StrEnum

from overlord.domain.skills.scan.rule import Level, any_of


class Forbidden(StrEnum):
    """How far a sentence forbids what it names."""

    PLAINLY = "plainly"
    PERHAPS = "perhaps"
    NOT = "not"

    def of(self, level: Level, message: str) -> tuple[Level, str]:
        """What becomes of a finding there."""
        if self is Forbidden.NOT:
            return level, message
        if self is Forbidden.PLAINLY:
            return Level.NOTE, f"Forbidden here, so only noted: {message}"
        return Level.FLAG, f"Named here to be forbidden, or so it looks: {message}"


_FORBIDS = (
    r"(?:never(?: ever)?|do not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|avoid|nobody may|no one may|"
    r"not allowed to|forbidden(?: to)?|there is no reason to|no(?=\s*$|\s[`\"']))"
)
_MENTIONS = r"(?:reject|flag|report|look out for|watch for|watch out for|beware of|forbid|refuse|warn about)"
_SEEKS = r"(?:look for|search for|grep for|check for|find|spot)"
_REVIEWING = r"(?:(?:when|while|whenever|if|before|as)\s+(?:you\s+|we\s+|people\s+)?(?:re)?(?:review|read|check|audit|look)\w*[^:.!?;]{0,80}|in (?:a |code )?reviews?)"
_WORDS = any_of(
    r"ever runs? running used? uses using pipes? piping calls? calling execut(?:e|ing) writ(?:e|ing) add(?:ing)? past(?:e|ing)",
    r"suggest recommend accept allow introduce copy commit(?:ting)? print(?:ing)? echo log(?:ging)? pass set ship read(?:ing)?",
    r"rely on like such as things? a an the any all anything something of in or new raw commands? lines? code patterns? scripts?",
    r"output changes? that which contains? says? do following e\.g\. your own our secrets? values? sudo cd texts?",
    r"these those sentences? phrases? workflows? dockerfiles? for every each to with",
)
_BETWEEN = rf"(?:[\s`\"'*_(,/]|\b{_WORDS}\b)*"
_OTHERS = r"(?:`[^`\n]{1,200}`\s*(?:,?\s*(?:or|nor|and)\b|,)\s*)*"
"""What is forbidden in the same breath."""
_BEGINS = r"(?:^\s*|[.!?;]\s+|[-*]\s+|\d[.)]\s+)"
_BEFORE = re.compile(rf"(?:\b{_FORBIDS}|{_BEGINS}{_MENTIONS})\b{_BETWEEN}{_OTHERS}$", re.IGNORECASE)
_SOUGHT = re.compile(
    rf"(?P<review>(?:{_BEGINS}|\b){_REVIEWING},\s*)?(?(review)|{_BEGINS}){_SEEKS}\b{_BETWEEN}{_OTHERS}$",
    re.IGNORECASE,
)
_TREATED = re.compile(rf"(?:{_BEGINS}|,\s*)treat\b{_BETWEEN}{_OTHERS}$", re.IGNORECASE)
_AS_A_FAULT = re.compile(
    r"[\s`\"'*)]*as\s+(?:an?\s+)?(?:\w+\s+)?(?:finding|bug|defect|error|vulnerability|blocker|smell|fault|mistake|incident)s?\W*$",
    re.IGNORECASE,
)
_HEADER = re.compile(
    rf"^\W*(?:{_FORBIDS}|(?:{_REVIEWING},?\s*)?(?:{_MENTIONS}|{_SEEKS}))\b{_BETWEEN}:$", re.IGNORECASE
)
_ITEM = re.compile(rf"\s*(?:[-*+]|\d+[.)])\s+{_OTHERS}[`\"']*")
_NAMED_FIRST = re.compile(
    r"\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:(?:the|a|an|any)\b\s*)?(?:(?:commands?|calls?|lines?|code|things?|anything|constructs?|patterns?)\b\s*)?"
    rf"(?:(?:such as|like)\b\s*)?{_OTHERS}[`\"'*]*",
    re.IGNORECASE,
)
_FORBIDDEN_AFTER = re.compile(
    r"[`\"'*)]*(?:\s*(?:,|and|or|nor)\s*`[^`\n]{1,200}`)*,?\s+(?:"
    r"(?:is|are)\s+(?:not|never)\s+(?:to\s+be\s+)?(?:used?|run|allowed|permitted|accepted|acceptable|written|committed|called|pasted|suggested|wanted|ok|okay|fine)|"
    r"(?:is|are)\s+(?:strictly\s+)?(?:forbidden|banned|prohibited|disallowed|off[- ]limits)|(?:has|have)\s+no\s+place|"
    r"(?:do|does)\s+not\s+belong|(?:must|may|should|shall|can)(?:\s+not|not|n['’]t|\s+never)\s+(?:ever\s+)?(?:be\s+(?:used|run|written|committed|"
    r"called|added|pasted|suggested|merged)|appear|occur|stand|get\s+in))\b(?!\s+to\b)",
    re.IGNORECASE,
)
_WHERE = r"(?:in|on|at|for|to|from|into|inside|within|with|against|over|of|by|as|outside|anywhere|ever|at\s+all|(?:not\s+)?even|either|too|here|again)"
_WHY = r"(?:because|since|as\s+(?:it|they|that|this)|which|that|so\s+that|for\s+it|[–—(-])"
_AFTER = re.compile(
    r"(?:`[^`\n]{1,200}`|`(?![^`\n]{1,200}`)|[\s\"'*_(),/]|\b(?:and|or|nor|no)\b(?=\s*`)|\b(?:or|and)\s+(?:anything|others?|the\s+like|similar)(?:\s+like\s+(?:it|that|them))?\b)*"
    rf"(?:(?:\b{_WHERE}\b|(?<![\w-]){_WHY})(?P<more>[^\n]{{0,160}}))?\W*",
    re.IGNORECASE,
)
_OF_SORTS = re.compile(
    r"\b(?:first|starts?\s+with|begins?|before|after|late|later|belongs?|needed|required|steps?|instead|hand|manually|alone|others|otherwise|"
    r"your ?self|twice|once|early|then|now|today|does\s+(?:it|so|this|that)|when|while|if|without|only|just|(?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)days?|weekends?|mornings?|nights?|foreground|background|slowly|quickly|must|should|no)\b",
    re.IGNORECASE,
)
"""What makes of a prohibition one of a time or a manner, so that the rest is allowed."""
_TO_BE_FIXED = re.compile(
    r"\b(?:and|to|then)\s+(?:report|replace|remove|delete|fix|flag|reject|rewrite|warn|ask\s+for|comment\s+on|point)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:unless|except|but|otherwise|until|only if|however|apart from|always|instead,? (?:run|use) (?:curl|wget)|"
    r"(?:and|then|to)\s+(?:run|execute|use|apply|follow|do|start|try|repeat|paste|call|begin|make|put)|"
    r"without\s+(?:sudo|root|asking))\b|,\s*(?:run|execute|call|paste|start|begin)\s+(?:it|this|that|them|with)\b",
    re.IGNORECASE,
)
_COMES_BACK_TO_IT = re.compile(
    r"\b(?:run|call|do|execute|paste|start|repeat|(?:begin|start|go on)\s+with)\s+(?:it|this|that|them|those)\b(?!\s+(?:not|never))|"
    r"\b(?:it|this|that)\s+(?:belongs|goes\s+first|comes\s+first|is\s+(?:step|the\s+first))\b",
    re.IGNORECASE,
)
_NOT_OURS = re.compile(
    r"[`\"'*)]*\s*[;,–—-]\s*(?:but\s+)?(?:we|you)\s+(?:do\s+not|don['’]t|never|must\s+not)\b", re.I
)
_QUOTED = re.compile(r"`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|(?<!\w)'[^'\n]{1,400}'(?!\w)")
_TESTS = re.compile(r"\b(?:tests?|fixtures?|assert\w*|attack\w*|injections?)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"\b(?:refus\w+|reject\w*|expects?|blocked|escaped|(?:must|may|does|do)\s+not\s+(?:follow|obey)|is\s+ignored|unchanged)\b",
    re.IGNORECASE,
)
_TWICE = re.compile(rf"\b(?:{_FORBIDS}|not|hesitate|forget|fail|afraid|stop|skip|without)\b", re.IGNORECASE)
_SPAN = re.compile(r"`[^`\n]{1,400}`")
_SENTENCE_END = re.compile(r"[.!?;:](?:\s|$)")
_GOES_ON_AFTER = re.compile(r"[.!?]\s+\S")


def forbidden(header: str, text: str, start: int, end: int, *, is_prose: bool = False) -> Forbidden:
    """How far a sentence does nothing with what it names but forbid it, or tell to look for it.

    `header` introduces the list it is an item of; speech is what is said to an agent, and no command.
    """
    spans = [span for span in _SPAN.finditer(text) if span.start() <= start < span.end()]
    if _GOES_ON_AFTER.search(text, min(spans[0].end(), end) if spans else start, end):
        return Forbidden.NOT
    for span in spans:
        start, end = span.start(), max(end, span.end())
    begins, ends = sentence(text, start, end)
    before, after = text[begins:start], text[end:ends]
    if (is_prose and _is_tested(text, start, end)) or _NOT_OURS.match(text, end):
        return Forbidden.PERHAPS
    if _TAKEN_BACK.search(before) or _TAKEN_BACK.search(after):
        return Forbidden.NOT
    found = _by_what_precedes(header, text[:start], before, after)
    if (
        found is Forbidden.NOT
        and _NAMED_FIRST.fullmatch(before)
        and (following := _FORBIDDEN_AFTER.match(after))
    ):
        found, after = Forbidden.PLAINLY, after[following.end() :]
    if found is Forbidden.PLAINLY and (not _is_plain(after) or _COMES_BACK_TO_IT.search(text, ends)):
        return Forbidden.PERHAPS
    return found


def _by_what_precedes(header: str, whole: str, before: str, after: str) -> Forbidden:
    for clause in (before, before.rpartition(",")[2]):
        if _BEFORE.search(clause) and len(_TWICE.findall(clause)) <= 1:
            return Forbidden.PLAINLY
    if sought := _SOUGHT.search(before):
        return Forbidden.PLAINLY if sought["review"] or _TO_BE_FIXED.search(after) else Forbidden.PERHAPS
    if _TREATED.search(before) and _AS_A_FAULT.match(after):
        return Forbidden.PLAINLY
    is_item = _ITEM.fullmatch(whole) is not None
    is_list = is_item and _HEADER.match(header) is not None and len(_TWICE.findall(header)) <= 1
    return Forbidden.PLAINLY if is_list else Forbidden.NOT


def _is_plain(after: str) -> bool:
    """Whether what follows says where or why something is forbidden, or what to do about it, and no more."""
    if _AS_A_FAULT.match(after) or _TO_BE_FIXED.search(after):
        return True
    match = _AFTER.fullmatch(after)
    return match is not None and not _OF_SORTS.search(match["more"] or "")


def _is_tested(text: str, start: int, end: int) -> bool:
    """Whether it is a quotation in a text about tests that expect it to be refused."""
    is_quoted = any(quote.start() <= start and end <= quote.end() for quote in _QUOTED.finditer(text))
    return is_quoted and _TESTS.search(text) is not None and _REFUSES.search(text) is not None


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence begins and ends that a part of a line is in."""
    begins = max((match.end() for match in _SENTENCE_END.finditer(text, 0, start)), default=0)
    stops = _SENTENCE_END.search(text, end)
    return begins, stops.start() if stops else len(text)
