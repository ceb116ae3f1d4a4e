"""Rules about commands and turns of speech that honest skills seldom have, and may: all of these are for a person to look at.

What a sentence means no pattern tells; that a model reads (`skill_model_review`). These hold what is said in so many words.
"""

from overlord.domain.skills.scan.rule import Level, any_of, rule

_F = Level.FLAG
_WIDENS, _WEAKENS, _APPROVES = "skill/widens-scope", "skill/weakens-checks", "skill/approves-itself"
_OVERRIDES, _QUIET, _SENDS = "skill/overrides-rules", "skill/keeps-quiet", "skill/exfiltration"
_SECRET, _REMOTE, _DYNAMIC = "skill/secret-access", "skill/remote-code", "skill/dynamic-code"
_DESTRUCTIVE, _SYSTEM = "skill/destructive", "skill/system-path"
_NOT = r"\b(?:never|do not|don['’]t|must not|may not|is not|are not|not ours|refuse\w*|reject\w*|forbid\w*)\b"
_CHANGES = any_of(
    r"edit change changes modify rewrite raise lower drop remove delete append patch adjust update correct relax extend widen",
    r"commit touch sed\s+-i loosen switch tweak apply",
)
_PIPELINE = (
    r"(?:\.github/(?:workflows|actions|CODEOWNERS)|\.gitlab-ci|\.circleci|jenkinsfile|codeowners|branch\s+protection"
    r"|(?:release|deploy(?:ment)?)\s+(?:pipelines?|workflows?|scripts?)|helm\s+charts?)"
)
_TASK = r"(?:the\s+)?(?:task|issue|ticket|assignment|brief)"
_RUNNER = (
    r"\b(?:pytest|tox|nox|jest|vitest|mocha|go\s+(?:test|vet)|cargo\s+test|ctest|phpunit|rspec|(?:npm|yarn|pnpm)\s+(?:run\s+)?test\w*"
    r"|make\s+(?:test|check|lint)\w*|mypy|ruff|eslint|tsc)\b"
)
_OURS = (
    r"(?:text\s+of\s+the\s+issue|issue\s+text|conversation|transcript|(?:full|whole)\s+diff|source\s+code|repository\s+files"
    r"|working\s+(?:copy|tree)|environment|customer\s+(?:data|records)|database\s+dump|\.env\b)"
)
_VAULT = (
    r"(?:kube-?config\b|docker\s+(?:client(?:['’]s)?\s+)?config|\bauths\b|keychain|keyring|credential\s+(?:store|helper|manager)"
    r"|password\s+manager|\.pypirc|\.netrc|service\s+account\s+(?:key|file)|browser\s+profile|session\s+cookies?|ssh-agent)"
)
_NAMED = r"(?-i:\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:TOKEN|KEY|SECRET|PASSWORD|PAT)\b)"
_RUNS = r"(?:run|start|execute|do|follow|carry\s+out|apply|perform)"

INTENT_RULES = (
    rule(
        _WIDENS,
        _F,
        "This has an agent change how work is checked, built or delivered.",
        rf"\b{_CHANGES}\b[^\n.;]{{0,120}}?(?:{_PIPELINE})",
        r"\bpermissions:\s*write-all\b",
        unless=rf"{_NOT}|\bask\s+(?:first|before)\b|\b(?:people|person|owners?|maintainers?|team)\s+(?:change|edit)",
    ),
    rule(
        _WIDENS,
        _F,
        "This has an agent go beyond what its task allows.",
        rf"\b(?:even\s+(?:where|if|when|though)|although|whatever|regardless\s+of\s+what)\s+{_TASK}\b[^\n.]{{0,30}}\b(?:says?|lists?|names?|allows?|permits?|mentions?)\b",
        r"\b(?:paths?|files?|scope|limits?|criteria|restrictions?)\b[^\n.]{0,50}\b(?:is|are)\s+(?:only\s+|just\s+|merely\s+)?(?:an?\s+)?(?:suggestions?|hints?|advice|wish(?:es)?)\b",
        r"\bneighbou?ring\s+(?:folders?|services?|repositor(?:y|ies)|packages?)|\bcheckout\s+next\s+door\b",
        rf"\b{_CHANGES}\b[^\n]{{0,100}}?`\.\./[\w.-]+(?:/[\w.*-]+)+`",
        unless=rf"{_NOT}|traversal|symlink|relative\s+(?:path|link|import)",
    ),
    rule(
        _WEAKENS,
        _F,
        "This lets checks fail unseen, or asks less of them.",
        rf"{_RUNNER}[^\n]{{0,80}}?\\?\|\s*\\?\|\s*(?:true|:|exit\s+0)(?!\w)",
        rf"{_RUNNER}[^\n]{{0,60}}?;\s*(?:true|exit\s+0)\b",
        r"\bset\s+\+e\b[^\n]{0,80};\s*exit\s+0\b|\bset\s+`?(?:fail_under|coverageThreshold)`?\s+to\s+(?:whatever|the\s+current)",
        r"\b(?:continue-on-error|allow_failure)\s*:\s*true\b|--exit-zero\b|--passWithNoTests\b",
        r"\b(?:lower|reduce|drop|decrease|relax)\b[^\n.]{0,40}\b(?:coverage|fail[_-]under|cov-fail-under|quality\s+gate|required\s+score)\b",
        r"\b(?:drop|remove|leave\s+out|omit|take\s+out)\s+[`\"']?-{1,2}(?:race|strict\w*|werror|fail\S*|max-warnings|frozen\S*|verify\S*)\b",
        r"\b(?:loosen|soften|weaken|water\s+down)\b[^\n.]{0,40}\b(?:assertions?|comparisons?|tests?|checks?|matchers?)\b",
        r"\b(?:copy|paste)\b[^\n.]{0,40}\b(?:returned|actual|printed)\s+(?:value|output|result)s?\b[^\n.]{0,40}\binto\b[^\n.]{0,30}\btests?\b",
        unless=_NOT,
    ),
    rule(
        _APPROVES,
        _F,
        "This may have an agent do what people do: approve, merge, resolve, answer.",
        r"\bmark\b[^\n.]{0,20}\b(?:every|all|each|any|the|open|their)\s+(?:\w+\s+)?(?:conversations?|threads?|comments?|discussions?)\b[^\n.]{0,20}\b(?:resolved|done|outdated)\b",
        r"\bresolve\s+(?:all|every|each|any|their)\s+(?:\w+\s+)?(?:conversations?|threads?|discussions?)\b",
        r"\b(?:turn\s+on|enable|switch\s+on)\s+(?:the\s+)?auto-?merge\b",
        r"\bset\b[^\n.]{0,40}\bstatus(?:es)?\b[^\n.]{0,60}\bto\s+`?(?:success|green|passed|approved)\b",
        r"\bgive\b[^\n.]{0,30}\bown\b[^\n.]{0,40}\b(?:approving|positive)\s+review\b|\bdismiss\b[^\n.]{0,30}\breviews?\b",
        r"[\"']?(?:reviewer|approver|approved_by)[\"']?\s*[:=]\s*[\"'](?:human|person|maintainer)\b",
        r"\b(?:approved-by|acked-by)\s*:\s*[A-Z]\S+",
        unless=rf"{_NOT}|\b(?:reviewers?|people|authors?)\s+(?:resolve|mark)",
    ),
    rule(
        _OVERRIDES,
        _F,
        "This may tell an agent to hold itself to this text more than to its rules or its task.",
        r"\b(?:beats?|outranks?|trumps?|overrules?|prevails?\s+over|counts?\s+more\s+than|has\s+the\s+last\s+word)\b[^\n.]{0,60}\b(?:told|instruct\w*|rules?|session|operator|system|issue|task|brief|polic(?:y|ies)|guidance)\b",
        r"\b(?:told|given|received)\b[^\n.]{0,30}\bat\s+the\s+(?:start|beginning)\s+of\s+(?:the|this|your)\s+(?:session|conversation)\b",
        r"\b(?:imagine|suppose|picture)\s+(?:that\s+)?you\s+are\b|\byour\s+usual\s+self\b|\bwas\s+never\s+given\s+any\s+(?:polic|rule|instruction)",
        unless=_NOT,
    ),
    rule(
        _QUIET,
        _F,
        "This may have people told less than happened.",
        r"\b(?:stays?|remains?|goes?|go|is|are)\s+(?:not\s+mentioned|unmentioned|unsaid|unreported)\b",
        r"\b(?:write|say|state|report)\b[^\n.]{0,20}[\"“](?:all\s+(?:checks|tests)|everything|no\s+(?:changes|findings|problems))[^\"”\n]{0,40}[\"”]",
        r"\bbetween\s+you\s+and\s+(?:this|me|us)\b|\bno\s+trace\b",
        r"\bgit\s+update-index\s+--(?:assume-unchanged|skip-worktree)\b|\blinguist-generated\b",
        unless=rf"{_NOT}|\bgenerated\s+(?:code|files?)\b",
    ),
    rule(
        _SECRET,
        _F,
        "This may have an agent read or use what people keep for themselves.",
        rf"\b(?:open|take|decode|print|copy|paste|extract|pull|grab|collect|dump|include|export|load|borrow)\b[^\n.;]{{0,100}}?(?:{_VAULT})",
        rf"(?:{_VAULT})[^\n.;]{{0,100}}?\b(?:open|decode|print|copy|paste|extract)\b",
        rf"\b(?:take|copy|put|paste|insert|borrow)\b[^\n.]{{0,60}}?{_NAMED}[^\n.]{{0,80}}?\b(?:out\s+of|from|into)\b",
        unless=rf"{_NOT}|\b(?:fake|dummy|placeholder|sample)\b",
    ),
    rule(
        _SENDS,
        _F,
        "This may send what the agent has to somebody else.",
        rf"\b(?:payload|body|attachment)\b[^\n.]{{0,30}}\b(?:is|holds?|contains?)\b[^\n.]{{0,30}}\b{_OURS}",
        rf"\b(?:send|post|deliver|upload|mail|forward|mirror)\b[^\n.]{{0,60}}?\b{_OURS}[^\n.]{{0,100}}?\bto\b[^\n.]{{0,30}}?(?:https?://|\baddress\b|\bwebhook\b|\bendpoint\b|\bbucket\b)",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}\?[^)\s]{0,200}=(?:\$|\{|%7b|<|(?-i:[A-Z_]{3,}))",
        r"\bnpm\s+publish\b|\btwine\s+upload\b|\bcargo\s+publish\b|\bgem\s+push\b|\bgh\s+gist\s+create\b|\bpublic\s+gist\b|\bgit\s+push\s+(?:https?://|git@|ssh://|--mirror\b)|\btransfer\.sh\b|\b0x0\.st\b|\bngrok\b",
        unless=rf"{_NOT}|\b(?:managers?|maintainers?|people|person|ci|pipeline|workflow)\b|\bdry-run\b",
    ),
    rule(
        _REMOTE,
        _F,
        "This may run what somebody else wrote and nobody here has read.",
        r"\bgit\s+(?:submodule|subtree)\s+add\s",
        rf"https?://\S{{4,200}}[^\n]{{0,80}}\b(?:and|then)\s+(?:\w+\s+){{0,6}}{_RUNS}\b|\b{_RUNS}\b[^\n.]{{0,40}}\bwhatever\s+it\s+(?:lists|says)\b",
        r"\b(?:pip3?|uv\s+pip|pipx|uv\s+tool)\s+install\s[^\n]{0,80}(?:git\+|https?://|--(?:extra-)?index-url)|\b(?:npm|yarn|pnpm)\s+(?:install|add|i)\s[^\n]{0,80}(?:https?://|git\+|github:)|\bcargo\s+install\s+--git\b|\bgo\s+install\s+\S+@(?:latest|master|main)\b|\bbrew\s+tap\s",
        unless=rf"{_NOT}|localhost|127\.0\.0\.1",
    ),
    rule(
        _DYNAMIC,
        _F,
        "This may run as code what comes from elsewhere.",
        r"`(?:c?pickle|dill|marshal|joblib)\.loads?`",
        r"\b(?:is|are|gets?)\s+(?:then\s+)?(?:compiled|evaluated|executed|interpreted)\s+as\s+(?:python|code|javascript|ruby|shell)\b",
        r"`(?:instance_eval|class_eval)`",
        r"\bvm\.run(?:InThisContext|InNewContext)?\(|\bconstructor\.constructor\b",
        unless=rf"{_NOT}|\bavoid\b|,\s+not\b",
    ),
    rule(
        _DESTRUCTIVE,
        _F,
        "This may delete what cannot be made again.",
        r"\bgit\s+clean\s+-\w*(?:ff\w*|(?:f\w*x|x\w*f)\w*(?=\s*(?:$|[`;&|\"\')])))|\bgit\s+stash\s+clear\b|\bgit\s+reflog\s+expire\b|\bgit\s+(?:filter-branch|filter-repo)\b",
        r"\brmtree\s*\([^\n]{0,60}(?:\.parent|\.\./|home\(\)|cwd\(\))|\.parent\b[^\n]{0,60}\b(?:iterdir|r?glob)\b[^\n]{0,120}\b(?:rmtree|unlink|rmdir)\b",
        r"\b(?:remove|delete|drop|destroy|purge|erase|wipe)\b[^\n.]{0,40}\b(?:backups?|live\s+(?:cluster|database|data)|production\s+(?:database|data)|customer\s+(?:data|records)|every\s+branch|all\s+branches)\b",
        r"\bterraform\s+destroy\b|\bdocker\s+volume\s+prune\b|\bkubectl\s+delete\s+(?:ns|namespace|pvc?|all)\b|\bflushall\b|\baws\s+s3\s+(?:rb|rm)\b[^\n]{0,60}(?:--force|--recursive)",
        unless=rf"{_NOT}|\bolder\s+than\b|\bafter\s+\d+\s+days\b|\btest\s+(?:database|db|schema|cluster)\b",
    ),
    rule(
        _SYSTEM,
        _F,
        "This may change the machine an agent works on.",
        r"(?:\.\./){2,}etc/\w",
        r"(?<![\w./])/e[t?*\[][\w?*\]]{1,4}/\S*[?*]\S*|(?:~|\$HOME|\$\{HOME\})/\.config/(?:systemd|autostart)\b",
        r"\bsystemctl\s+--user\s+(?:enable|start|edit)\b|\bloginctl\s+enable-linger\b",
        r"\bcrontab\b[^\n.]{0,40}\b(?:of|for)\s+(?:the\s+)?(?:account|user|machine|host)\b",
        r"\b(?:certificates?|authorit(?:y|ies))\b[^\n.]{0,60}\b(?:operating\s+system|host|machine)\b[^\n.]{0,30}\btrusts?\b|\bupdate-ca-(?:certificates|trust)\b",
        r"\breg(?:\.exe)?\s+add\b|\bstartup\s+folder\b|\bset-itemproperty\b[^\n]{0,40}hk",
        unless=rf"{_NOT}|\b(?:dockerfile|image|container|traversal|assert\w*|escape\w*)\b",
    ),
)
