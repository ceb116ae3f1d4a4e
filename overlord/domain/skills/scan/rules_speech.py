"""Rules about what a skill says to an agent: that rules do not count, that nobody need look, that something be kept quiet."""

from overlord.domain.skills.scan.rule import Level, any_of, rule

_R, _F = Level.REJECT, Level.FLAG
_OVERRIDES, _APPROVES = "skill/overrides-rules", "skill/approves-itself"
_QUIET, _WEAKENS = "skill/keeps-quiet", "skill/weakens-checks"
_MESSAGE = "This tells an agent that its rules do not count."
_PERSON = "This does without the person who must look."
_HIDES = "This asks an agent to keep something from people."
_LESS = "This makes the tests prove less."

_ORDERS = any_of(
    r"instructions? rules? prompts? guidelines? guidance directives? guard\s?rails? polic(?:y|ies) restrictions?",
    r"constraints? safety system\s+message safeguards? orders training",
)
_BOUNDS = any_of(r"limits? scope contract permissions?")
_IGNORES = any_of(
    r"ignore disregard forget override bypass circumvent discard violate disobey neglect set\s+aside throw\s+away",
    r"work\s+around get\s+around stop\s+following do\s+not\s+follow don['’]t\s+follow no\s+longer\s+follow abandon",
    r"dismiss overrule supersede pay\s+no\s+attention\s+to",
)
_WHOSE = any_of(
    r"all any every your these those previous prior above earlier preceding former other system developer",
    r"overlord(?:'s)? minion(?:'s)?",
)
_FILLS = r"(?:(?:the|of|and|or|its|standing|safety|security|default|usual|write|built-?in|given|existing|current|original|initial|scope)\s+)"
_YOU = (
    r"(?:^\s*|[.!?:;]\s+|[-*]\s+|\d[.)]\s+|\b(?:you (?:must|should|can|may|will|shall|are to|have to|need to)|"
    r"always|simply|just|please|then|and|automatically|immediately|to|instantly|silently)\s+)"
)
_WORK = any_of(
    r"pull[\s-]?requests? prs? merge\s+requests? changes? diffs? reviews? work commits? branch(?:es)? patch(?:es)?",
    r"skills? decisions? gates? evaluations? submissions? proposals? drafts? cards?",
)
_LOOKS = r"(?:reviews?|reviewers?|approvals?|looking|checks?|confirmation|asking|person|human|anyone|anybody|reading)"
_PEOPLE = any_of(
    r"the\s+user\b(?!s) people persons? humans? reviewers? maintainers? operators? anyone anybody owners? evaluators?",
    r"judges? overlord the\s+team them",
)
_PASSING = (
    r"(?:approved?|lgtm|pass(?:ed|ing)?|no findings|successful|looks good|all green|accepted|safe|trusted)"
)
_PAPERS = r"(?:summary|report|pull request|description|commit message|diff|release notes|log|changelog)"
_SUBJECT = r"(?:users?|reviewers?|admins?|administrators?|maintainers?|managers?|owners?|they|who|people|person|cannot|nobody|no one)"
_SKIPS = r"(?:@pytest\.mark\.(?:skip|xfail)|@unittest\.skip|\bpytest\.skip\b|\bt\.skip\b|\bit\.skip\b|\bxit\(|@disabled|#\[ignore\])"
_TESTS = r"(?:tests?|test cases?|assertions?|checks?|linters?|test suite|type checks?|evaluations?|evaluator)"

INSTRUCTION_RULES = (
    rule(
        _OVERRIDES,
        _R,
        _MESSAGE,
        rf"\b{_IGNORES}\s+(?:about\s+)?{_FILLS}{{0,2}}(?:{_WHOSE}\s+{_FILLS}{{0,3}}){{1,4}}{_ORDERS}\b",
        rf"\b{_IGNORES}\s+{_FILLS}?(?:all\s+(?:of\s+)?)?(?:your|overlord's|the write)\s+{_FILLS}?{_BOUNDS}\b",
        rf"\b{_IGNORES}\s+the\s+(?:\w+\s+)?(?:instructions|system (?:prompt|message)|guard\s?rails|safeguards|scope you)\b",
        r"\b(?:ignore|disregard|forget|override)\s+(?:everything|anything|all|what(?:ever)?)\s+"
        r"(?:(?:that|of|you|the|what|was|were|is|has|have|been|i|we|they|overlord)\s+){0,5}(?:above|before|previously|earlier|told|"
        r"said|so far|prior)\b(?!\s+the)",
        unless=r"\b(?:sub|child|base|parent|derived)?[\s-]?class(?:es)?\s+(?:(?:may|can|must|should)\s+)?override\b|\boverride\b[^\n.]{0,60}\bby\s+defining\b",
    ),
    rule(
        _OVERRIDES,
        _R,
        _MESSAGE,
        rf"\b(?:your|the|all|any|previous|these|those|other|system|earlier|overlord's|scope)\s+(?:\w+\s+){{0,2}}(?:{_ORDERS}|"
        rf"{_BOUNDS})\s+(?:above\s+|here\s+)?"
        r"(?:(?:do|does|are|is|can|should|must|may|will|have|has)\s+)?(?:not|no longer|never|n't|been)\s+(?:\w+\s+)?"
        r"(?:apply|applies|count|counts|bind|binding|valid|matter|lifted|revoked|void|suspended|superseded|in force|in effect)\b",
        r"\b(?:take|takes|give|gives|given|has|have|having)\b[^\n.]{0,40}\b(?:precedence|priority) over\b"
        r"[^\n.]{0,40}\b(?:overlord|system|earlier|previous|your|told|prompt|other (?:instructions|rules))\b",
        rf"\b{_ORDERS}\b[^\n.]{{0,40}}\b(?:you (?:were|have been|got|had|received)|earlier|before|above)\b[^\n.]{{0,40}}"
        r"\b(?:out of date|outdated|obsolete|wrong|void|superseded|replaced|a mistake|invalid|expired)\b",
        rf"\byour (?:only|sole|new|real|true|actual)\s+(?:\w+\s+)?{_ORDERS}\b",
        r"\b(?:only|just) this (?:file|skill|text) (?:counts|applies|matters|is valid)\b",
    ),
    rule(
        _OVERRIDES,
        _R,
        _MESSAGE,
        r"\byou are (?:now|no longer)\s+(?:an?\s|in\s|bound|the\s|limited|restricted|subject|under|required|called|acting|free|root|admin|dan\b)",
        r"\b(?:enter|enable|activate|switch (?:in)?to)\s+(?:developer|god|dan|jailbreak|unrestricted|maintenance|root)\s+mode\b",
        r"\bdo anything now\b|\bjailbreak\b|\brole-?play as\b|\bpretend (?:that )?(?:you|there (?:is|are) no)\b",
        r"\bact as (?:if you (?:had|have|were)|(?:the|an?)\s+(?:\S+\s+){0,2}(?:unrestricted|root|admin\w*|owner|maintainer|superuser|"
        r"reviewer|evaluator)\b)",
        r"\b(?:you|owners?|agents?|this) needs? no (?:scope|permission|approval|review)\b",
        r"\b(?:edit|write|change|touch|modify)\s+(?:to\s+)?(?:whatever|any|every)\s+(?:files?|paths?)\s+(?:you|it)\b",
    ),
    rule(
        _OVERRIDES,
        _R,
        "This imitates words of the system an agent runs under.",
        r"(?:^\s*[#\[<*]{0,3}|<!--)\s*(?:system|developer|assistant)(?:\s+(?:message|prompt|notice|override|update|instruction|"
        r"note))?\s*(?:\]|>|\*{1,2}|#{1,3})?\s*:\s*\S",
        r"<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?inst\]|<</?sys>>|</?(?:system|data-[0-9a-f]+|issue|skills)>",
        r"\b(?:begin|end|new|updated)\s+(?:of\s+)?system\s+(?:prompt|message|instructions?)",
        unless=r"^\s*system:\s*(?:linux|macos|windows|\w+\s*$)",
    ),
    rule(
        _OVERRIDES,
        _R,
        _MESSAGE,
        rf"\b(?:there are|you have|there is)\s+no\s+(?:\w+\s+){{0,2}}(?:{_ORDERS}|{_BOUNDS})\b(?! for| in| to)",
        r"\bno (?:rules?|restrictions?) appl(?:y|ies)\b|\bwrite (?:any|every|to any) files? outside\b",
        r"\b(?:outside|beyond|regardless of|in spite of|despite|whatever)\s+(?:your|the|its|any)\s+(?:\w+\s+)?(?:scope|rules|"
        r"instructions|restrictions|limits)\b"
        r"[^\n.]{0,40}?\b(?:is allowed|is fine|is ok|allowed|permitted|says?|forbid|write|edit)",
    ),
    rule(
        _OVERRIDES,
        _R,
        _MESSAGE,
        r"\bignor(?:iere|ier|a|ez|e|are|e-se)\s+(?:(?:alle|todas?|toutes?|tutte|as|las|los|les|le|die|sämtliche|tous|todos)\s+){0,3}"
        r"(?:vorherigen|vorigen|bisherigen|obigen|früheren|instrucciones|instrucções|instruções|consignes|istruzioni|reglas|regras|"
        r"règles|regole|anweisungen|regeln|instructions\s+pr[ée]c)",
        r"\b(?:olvida|esquece|oublie[zr]?|vergiss|dimentica|negeer|zignoruj|ignoruj)\b[^\n.]{0,40}(?:instruc|anweis|regel|règle|"
        r"consigne|istruzion|regl|regr|poleceni|zasad)",
        r"(?:忽略|无视|無視|忘记|忘記|不要理会)[^\n。]{0,12}(?:指令|指示|规则|規則|说明|提示|命令|要求)|(?:指示|命令|ルール|規則|プロンプト)[^\n。]{0,8}(?:無視|忘れ)",
        r"(?:игнорируй|игнорировать|забудь|не\s+обращай|отбрось)(?:те)?[^\n.]{0,40}(?:инструкц|правил|указан|команд)",
        r"(?:지시|명령|규칙)[^\n.]{0,10}무시|(?:تجاهل|انس)[^\n.]{0,30}(?:التعليمات|القواعد|الأوامر)|(?:התעלם|שכח)[^\n.]{0,30}(?:הוראות|כללים)",
    ),
    rule(
        _APPROVES,
        _R,
        "This has an agent approve what people approve.",
        rf"{_YOU}(?:approve|merge|accept|rubber-?stamp|lgtm|auto-?(?:approve|merge))\s+"
        r"(?:(?:this|the|every|all|any|each|your|own|its|open|it|pending|whatever|such|these|our|of|minion|overlord(?:'s)?|resulting|"
        rf"current)\s+){{1,4}}(?:\w+\s+)?{_WORK}\b"
        r"(?!\s+(?:button|dialog|page|screen|form|state|flow|view|endpoint|count|conflict))",
        unless=rf"\bonly (?:when|if|after|once)\b|\b{_SUBJECT} (?:can |may |could |who |should |must |to |not |then )*(?:approve|merge|accept)",
    ),
    rule(
        _APPROVES,
        _R,
        _PERSON,
        r"\b(?:approve|merge|accept|deliver|publish|ship|push|deploy)\b[^\n.]{0,60}?\b(?:without|before|instead of|skipping|with no|no need for)\s+"
        rf"(?:(?:any|a|an|the|further|waiting|asking|for|human|person's?|manual|code|reading|it|them|wait)\s+){{0,4}}{_LOOKS}\b",
        r"\bgh\s+pr\s+(?:review\b[^\n]{0,60}--approve|merge\b[^\n]{0,60}--admin)",
        r"\b(?:no|without) (?:human|person(?:'s)?|manual) (?:review|approval|oversight)\s+(?:is |are )?(?:needed|required|necessary)",
        r"\b(?:already|pre-?)\s?(?:been\s+)?approved by\b[^\n.]{0,40}(?:so|no|skip|without)",
        r"\b(?:never|do not|don['’]t|need not|no need to)\s+(?:ask|wait for|consult|involve|stop for)\s+(?:a |any |the )?(?:person|"
        r"humans?|people|anyone|anybody|reviewers?|maintainers?)\b",
        r"\b(?:approve|accept|grant|answer|decide)\s+(?:it|this|them|that)\s+yourself\b",
        r"\balways\s+(?:approve|merge|accept|lgtm)\s*(?:[.!,]|$)|\b(?:always|just|simply)\s+(?:approve|merge)\s+(?:it|this|them|everything|anything|all)\b",
        r"\bmerge (?:it|this|them|everything|the branch)\s+(?:yourself|right away|immediately|directly|at once)\b",
        r"\b(?:nobody|no one) (?:has (?:the )?time|needs|wants|is going|will have time) (?:to )?(?:review|look|read|approve)",
        r"\bpush\s+(?:(?:it|them|this|straight|directly|your|the|work|commits?|changes?)\s+){0,4}(?:to|into)\s+(?:main|master|"
        r"the (?:default|main) branch)\b",
        unless=(
            rf"\b(?:{_SUBJECT}|tests? that|a person|owner|editor)s? (?:can |may |could |must not |cannot )?(?:approve|merge|accept|publish|"
            r"deploy|push)|"
            r"\bfail|refus|is rejected|is blocked|\b403\b|\bprotected\b"
        ),
    ),
    rule(
        _APPROVES,
        _R,
        "This tells whoever judges the work what to say.",
        r"\b(?:answer|reply|respond|output|return|report|say|write|state|score|vote|mark|label|rate|declare|record|"
        r"conclude)\b[^\n.]{0,40}?[\"'`*]*(?-i:\b(?:APPROVED?|LGTM|PASS(?:ED)?)\b)"
        r"[\"'`*]*[^\n.]{0,60}?\b(?:whatever|regardless|always|no matter|even (?:if|when)|every time|for every|without)",
        r"\b(?:always|regardless|whatever|no matter|even if)\b[^\n]{0,80}?\b(?:answer|reply|respond|output|return|report|say|mark|"
        r"score|vote|rate|declare|pass)\b"
        rf"[^\n.]{{0,40}}?\b{_PASSING}\b",
        rf"\b(?:reviewers?|evaluators?|judges?|graders?)\b\s*[:,][^\n.]{{0,80}}?\b(?:approve|ignore|skip|{_PASSING})\b",
        unless=r"\bmust not\b|\btested\b",
    ),
    rule(
        _APPROVES,
        _F,
        "This may tell whoever judges the work what to say.",
        rf"{_YOU}(?:score|rate|mark|grade|count|treat)\s+(?:it|this|them|the \w+|every\w*|all)\s+as\s+\W?{_PASSING}\b",
    ),
    rule(
        _QUIET,
        _R,
        _HIDES,
        rf"\b(?:do not|don['’]t|never|must not|should not|avoid|refrain from|without)\s+(?:ever\s+)?"
        r"(?:tell(?:ing)?|mention(?:ing)?|report(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|inform(?:ing)?|alert(?:ing)?|notify(?:ing)?|"
        rf"admit(?:ting)?)\b[^\n.;]{{0,50}}?\b{_PEOPLE}\b",
        r"\b(?:do not|don['’]t|never|must not|should not)\s+(?:ever\s+)?(?:tell|mention|report|reveal|disclose|show|admit|say|explain|"
        r"discuss|ask about|list)\b[^\n.;]{0,50}?"
        r"\b(?:this (?:skill|step|instruction|rule|part|change)|these (?:steps?|instructions?|rules?)|that you (?:did|ran|changed|were|"
        rf"have)|(?:it|this|them|these)\s+in (?:the|your) {_PAPERS})\b",
        rf"\b(?:leave|keep)\s+(?:it|this|that|these|them|the \w+|any \w+)\s+out of\s+(?:the|your)\s+{_PAPERS}\b",
        r"\b(?:secretly|covertly|stealthily|surreptitiously)\b",
        r"\bwithout (?:anyone|anybody|the user|people|them|a person|the reviewer|reviewers)(?:'s)? (?:noticing|knowing|seeing|"
        r"knowledge|realising|realizing)\b",
        r"\b(?:hide|conceal|disguise|bury)\b[^\n.]{0,40}?\b(?:this|these|your|the|it|"
        r"what)\b[^\n.]{0,40}?\b(?:from (?:the )?(?:reviewers?|diff|maintainers?|overlord|evaluator|review|user\b(?!s))|"
        r"so (?:that )?(?:nobody|no one|reviewers?)|in (?:a|the) (?:large|unrelated|formatting) (?:change|diff|commit))",
        r"\bkeep (?:this|it|these (?:steps|instructions)) (?:a )?(?:secret|hidden|confidential|between us|quiet)\b",
        unless=(
            r"\b(?:do not|don['’]t|never|must not)\b[^\n.;]{0,60}\bwithout\b|(?:internal|stack trace|technical|traceback|error code|raw|"
            r"sql|exception)|"
            r"(?:passwords?|personal data|tokens?|secrets?|pii|emails?|names? of (?:people|customers))\b|people (?:for|that|what|which)\b"
        ),
    ),
    rule(
        _WEAKENS,
        _F,
        "This goes around checks of the repository's own.",
        r"--no-verify\b|\bgit\s+commit\b[^\n]{0,80}\s-n\b|\bhusky=0\b|\bskip=[\w,-]+\s+git\b|--no-gpg-sign",
    ),
    rule(
        _WEAKENS,
        _F,
        "This keeps a change from being checked.",
        r"\[(?:skip ci|ci skip|no ci)\]",
        unless=r"\bdocs?|documentation|changelog\b",
    ),
    rule(
        _WEAKENS,
        _R,
        _LESS,
        rf"{_YOU}(?:delete|remove|comment out|skip|disable|xfail|silence|empty|weaken|rewrite|edit|change|turn off|switch off|loosen|"
        r"mute|drop|ignore|suppress|stub out)\s+"
        r"(?:(?:the|all|any|every|each|those|these|failing|broken|red|its|your|slow|old|existing|out|of|that|which|it|whole|security)\s+){0,4}"
        rf"{_TESTS}\b[^\n.]{{0,50}}?\b(?:that fails?|(?:un)?til|so (?:that )?|to (?:make|get|keep)|fail|pass(?:es)?|green|in the way|"
        r"if they fail|when they fail|that (?:do not|don't) pass)\b",
        rf"{_SKIPS}[^\n.]{{0,60}}\b(?:every|all|any|each|whatever|red|fail\w*|broken)\b|\b(?:every|all|any|each|red|fail\w*|"
        rf"broken)\b[^\n.]{{0,60}}{_SKIPS}",
        r"\b(?:replace|change|turn|rewrite)\b[^\n.]{0,60}\b(?:with|to|into|by)\b\W{0,3}(?:assert\s+(?:true|1)\b|pass\b(?!\w)|"
        r"return true\b|expect\(true\))",
        unless=r"obsolete|feature (?:is|was) removed|flag|quarantine|duplicate|rerun|then restore|mutation|prove that|fails without",
    ),
    rule(
        _WEAKENS,
        _R,
        "This makes the tests prove nothing.",
        r"\b(?:make|let|have|force)\s+(?:the\s+|all\s+|every\s+)?(?:tests?|checks?|ci|evaluation|linter)\s+(?:always\s+)?(?:pass|"
        r"succeed|exit (?:with )?(?:0|zero)|return (?:0|true))\s+"
        r"(?:by|regardless|whatever|no matter|even|always|anyway|unconditionally)",
        r"\b(?:so that|such that|to make)\b[^\n.]{0,40}\b(?:always|unconditionally)\b[^\n.]{0,20}\b(?:exits?|returns?|pass(?:es)?|succeeds?|green)\b",
        r"\bsys\.exit\(0\)\s+(?:at|in|to)\b[^\n.]{0,40}(?:conftest|tests?)|\bos\._exit\(0\)|"
        r"\bpytest_collection_modifyitems\b[^\n]{0,80}(?:clear|del|= ?\[\])",
        r"\b(?:fake|forge|fabricate|falsify|invent)\s+(?:(?:the|a|any|some|your)\s+){0,2}(?:test\s+)?(?:results?|reports?|outputs?|"
        r"junit|evidence|coverage)\b",
    ),
    rule(
        _WEAKENS,
        _F,
        "This makes the work look better than it is, or takes more than was given.",
        r"\b(?:hard-?code|special-?case)\s+(?:the\s+)?(?:expected|test)\s+(?:values?|outputs?|results?|answers?|inputs?)",
        r"\b(?:grant|give|allow) (?:yourself|itself)\b|\bself-?approv(?:e|al)\b",
    ),
    rule(
        _WEAKENS,
        _R,
        _LESS,
        r"\b(?:bypass|evade|circumvent|trick|fool|deceive|mislead|get around|work around|disable|turn off|switch off)\s+(?:the\s+|overlord's\s+|its\s+)?"
        r"(?:evaluator|evaluation|judge|scope(?: check)?|guard\s?rails?|integrity check)\b",
        r"\b(?:pretend|claim)\s+(?:that\s+)?(?:(?:the|all|they|it|every)\s+)*(?:tests?|checks?|suite)?\s*(?:(?:have|has|all)\s+)*(?:passed|pass|succeeded|are green)\b",
        r"\b(?:do not|don['’]t|never)\s+run\s+(?:the\s+|any\s+)?tests?\b[^\n.]{0,20}\b(?:say|report|state|write|claim)\b",
    ),
    rule(
        _WEAKENS,
        _F,
        "This takes down a wall.",
        r"\b(?:bypass|evade|disable|turn off|switch off|escape)\s+(?:the\s+|its\s+)?(?:sandbox|gate|seccomp|apparmor|selinux|firewall)\b",
    ),
)
