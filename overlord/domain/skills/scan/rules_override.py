"""Rules about what a skill says to an agent of its standing: that it goes before other rules, and that an agent may decide."""

from overlord.domain.skills.scan.rule import Level, any_of, rule

_R, _F = Level.REJECT, Level.FLAG
_OVERRIDES, _APPROVES, _QUIET = "skill/overrides-rules", "skill/approves-itself", "skill/keeps-quiet"
_MESSAGE = "This tells an agent that its rules do not count."
_PERSON = "This has an agent decide what people decide."
_HIDES = "This asks an agent to keep something from people."
_WEAK = "This makes advice of a rule that is none."
_ORDERS = any_of(
    r"instructions? rules? prompts? guidelines? restrictions? polic(?:y|ies) constraints? orders messages?"
)
_WALLS = any_of(r"scope gates? guard\s?rails? approvals? limits? rules? restrictions? evaluation review")
_YOU = (
    r"(?:^\s*|[.!?:;]\s+|[-*]\s+|\d[.)]\s+|\b(?:you (?:must|should|can|may|will|shall|are to|have to)|always|simply|just|please|"
    r"then|and|automatically)\s+)"
)
_SOMEBODY = r"(?:the\s+|a\s+)?(?:user|person|owner|maintainer|operator|reviewer|approver|human)s?\b"
_YES = r"[\"'`“*]*(?:yes|ok(?:ay)?|approved?|accept(?:ed)?)\b[\"'`”*]*"

OVERRIDE_RULES = (
    rule(
        _OVERRIDES,
        _R,
        _MESSAGE,
        r"\b(?:ignore|disregard|forget|discard|dismiss)\s+(?:all\s+(?:of\s+)?|everything\s+)?the\s+(?:above|preceding|foregoing)(?=\s*(?:[.!;,]|$|and\b))",
        rf"\bthese\s+(?:new\s+)?{_ORDERS}\s+(?:replace|override|supersede|cancel|take\s+the\s+place\s+of)\b",
        r"\b(?:replaces?|overrides?|supersedes?|cancels?)\s+(?:the|your|any)\s+(?:system|developer)\s+(?:prompt|message|instructions?|rules?)\b",
        rf"\boverrides?\s+(?:every|all|any)\s+(?:of\s+the\s+)?(?:other\s+)?{_ORDERS}\s+(?:that\s+)?you\b",
        r"\bthis\s+(?:skill|file|text)\s+(?:wins|prevails|outranks|overrides|comes\s+first|goes\s+first|has\s+the\s+last\s+word)\b",
        rf"\b{_ORDERS}\b[^\n.]{{0,40}}\b(?:you\s+(?:were|have\s+been|got|had)|earlier|above)\b[^\n.]{{0,40}}\b(?:suspended|paused|lifted|"
        r"on\s+hold|withdrawn|cancelled|canceled|repealed|switched\s+off)\b",
        r"(?-i:\bNEW\s+(?:INSTRUCTIONS?|RULES?|ORDERS?|SYSTEM\s+PROMPT))\s*:",
        r"\b(?:whatever|everything|anything|all\s+that)\s+(?:came|was\s+said|stood|you\s+(?:were\s+told|read))\s+before\b[^\n.]{0,80}\b(?:withdrawn|"
        r"void|drafts?|obsolete|forget|gone|cancelled)\b",
        r"\b(?:go\s+by|follow|obey|heed|trust)\s+(?:only\s+)?this\s+(?:text|file|skill)\s+(?:alone|only)\b",
    ),
    rule(
        _OVERRIDES,
        _R,
        _WEAK,
        rf"\b(?:treat|regard|consider|see|take)\s+(?:the|its|your|any|all)\s+(?:\w+\s+)?{_WALLS}(?:\s+(?:check|gate|rules?))?\s+as\s+(?:merely\s+|only\s+|"
        r"purely\s+)?(?:an?\s+)?(?:advisory|optional|advice|suggestions?|hints?|informational|non-?binding|recommendations?)\b",
        rf"\b(?:the|your)\s+{_WALLS}\s+(?:is|are)\s+(?:only|just|merely)\s+(?:an?\s+)?(?:suggestions?|advice|advisory|hints?|formalit(?:y|ies))\b",
    ),
    rule(
        _OVERRIDES,
        _F,
        "This turns round what stands elsewhere, or goes around what refuses it.",
        r"\b(?:list|items?|rules?|prohibitions?|warnings?|lines?)\s+(?:above|below|here)\b[^\n.]{0,30}\b(?:inverted|reversed|opposite|required)\b",
        r"^\s*new\s+instructions?\s*:",
        r"\b(?:write|edit|access|it)\s+(?:is|was)\s+(?:refused|denied|blocked)\b(?!\s+anyway)[^\n.]{0,80}\b(?:anyway|all\s+the\s+same|nevertheless)\b",
        r"\bignore(?:all|any|the|your|every|these)*(?:previous|prior|above|earlier)(?:instructions|rules)\b",
    ),
    rule(
        _OVERRIDES,
        _R,
        "This takes orders from a place that can change them.",
        r"\b(?:open|read|visit|see|fetch|load)\b[^\n]{0,80}?https?://[^\n]{0,120}?\bdo\s+(?:exactly\s+|just\s+)?(?:what|as|whatever)\s+(?:it|they|that|the)\b",
    ),
    rule(
        _APPROVES,
        _R,
        _PERSON,
        r"\boverlord\s+(?:(?:skills|proposals|decisions)\s+(?:approve|reject|answer)|answer|approve|grant)\b",
        r"\b(?:curl|gh\s+api|https?|requests?|fetch|put|post)\b[^\n]{0,200}?/pulls/[^/\s]{1,60}/(?:merge|reviews)\b",
        r"/pulls/[^/\s]{1,60}/(?:merge|reviews)\b[^\n]{0,80}(?:-X\s*(?:PUT|POST)|-f\s+event=|\bAPPROVE\b)",
        rf"\b(?:press|click|hit|tap|choose|select)\s+[\"'`“*]*(?-i:Approve|Accept|Merge|Yes)\b[\"'`”*]*\s+(?:for|on\s+behalf\s+of|instead\s+of|in\s+place\s+of)\s+{_SOMEBODY}",
        rf"\b(?:answer|reply|respond|say)\s+{_YES}\s+(?:on\s+behalf\s+of|in\s+place\s+of|in\s+the\s+name\s+of|instead\s+of|for)\s+{_SOMEBODY}",
        rf"\b(?:approve|decide)\b[^\n.]{{0,30}}\b(?:on\s+behalf\s+of|in\s+the\s+name\s+of)\s+{_SOMEBODY}",
        rf"\basks?\s+(?:you\s+)?for\s+(?:an?\s+|the\s+|your\s+)?(?:approval|permission|confirmation)\b[^\n.]{{0,30}}\b(?:answer|say|reply|respond)\s+(?:with\s+)?{_YES}",
        r"\b(?:evaluation|evaluator|review|gate)\s+asks\b[^\n.]{0,80}\banswer\s+is\s+\W?(?:yes|pass)\b",
        rf"{_YOU}(?:set|add|apply|put|attach)\s+(?:the\s+|a\s+)?labels?\s+[\"'`“*]*(?:approved|reviewed|lgtm|auto-?merge)\b",
        rf"{_YOU}(?:set|add|apply|put|attach)\s+(?:the\s+|an?\s+)?[\"'`“*]*(?:approved|reviewed|lgtm|auto-?merge)[\"'`”*]*\s+label\b",
        r"\bmerged?\b[^\n.]{0,40}\bwithout\s+(?:another|a\s+second|any\s+other|anybody\s+else['’]s)\s+(?:reader|reading|look|pair\s+of\s+eyes|person|reviewer)\b",
        r"\b(?:pass|approve|accept|wave)\s+(?:it|this|them|these)\s+(?:through\s+)?without\s+(?:reading|looking)\b",
    ),
    rule(
        _APPROVES,
        _F,
        "This may have an agent decide what people decide.",
        rf"{_YOU}(?:press|click|hit|tap)\s+[\"'`“*]*(?-i:Approve|Merge)\b",
        r"\bcounts?\s+as\s+(?:already\s+)?(?:reviewed|approved)\b",
        r"\bgh\s+pr\s+merge\b",
        unless=r"\b(?:tests?|e2e|playwright|cypress|toast|dialog|dialogue|page|screen)\b|\bcounts?\s+as\s+\w+\s+(?:when|if|once|after|only)\b",
    ),
    rule(
        _QUIET,
        _R,
        _HIDES,
        r"\bno\s+need\s+to\s+(?:list|mention|report|name|tell|say)\b[^\n.]{0,40}\b(?:summary|report|pull\s+request|reviewers?|the\s+user|people)\b",
        r"\b(?:leave|keep)\b[^\n.]{0,30}\bunmentioned\b",
        r"\bsay\s+nothing\s+(?:of|about)\s+(?:it|this|that|these)\b",
        r"\b(?:people|reviewers?|humans?|the\s+user|nobody|no\s+one)\s+(?:need\s+not|needn['’]t|(?:do|does)\s+not\s+need\s+to|needs?\s+to)\s+know\b"
        r"(?<!people\sneed\sto\sknow)(?<!humans\sneed\sto\sknow)",
        unless=r"internal|stack trace|technical|implementation",
    ),
    rule(
        "skill/hidden-text",
        _F,
        "A comment is not seen where Markdown is shown, and this one speaks to agents.",
        r"<!--[^\n]{0,40}\b(?:agents?|assistants?|ai|minions?|models?|llms?|you)\b",
    ),
)
