"""Rules about commands and code in a skill: what destroys, what fetches and runs, what is made up at run time.

A Minion has a shell without network, in a container that is thrown away; people who read the same skill have neither.
"""

from overlord.domain.skills.scan.rule import Level, rule

_FETCH = r"(?:curl|wget|aria2c|lynx|iwr|irm|invoke-webrequest|invoke-restmethod|nc|ncat|netcat|ftp|tftp|scp|httpie)"
_DECODE = r"(?:base64|base32|xxd|uudecode|openssl\s+(?:enc|base64)|rev\b|tr\s+['\"\[\w]\S*|gunzip|gzip\s+-\w*d|zcat|printf|echo\s+-\w*[neE]\w*)"
_SHELL = r"(?:/(?:usr/)?(?:local/)?bin/)?(?:(?:ba|z|da|k|c|tc|a|fi)?sh|busybox\s+sh|pwsh|powershell)"
_INTERPRETER = r"(?:/(?:usr/)?bin/)?(?:python[\d.]*|node|perl|ruby|php|deno|lua)"
_BEFORE = r"(?:(?:sudo|env|exec|command|nohup|time|setsid|xargs|tee\s+\S+\s*\|)\s+(?:(?-i:-I)\s+\S+\s+|-(?!(?-i:I)\s)\S+\s+|\w+=\S*\s+|\{\}\s+)*){0,3}"
_ENDS = r"(?=\s*(?:$|[;&|)\"'`<>]|-\s|-$|-s\b|-\w+\s*(?:$|[;&|)\"'`]|-|\w+=)))"
_INTO_SHELL = rf"\|&?\s*{_BEFORE}(?:{_SHELL}\b(?!\.)|{_INTERPRETER}\b{_ENDS}(?!\s+-[mc]\b))"
_RUN = rf"(?:{_SHELL}|eval|exec|source|{_INTERPRETER}|(?<![\w.])\.)"
_SYSTEM = r"/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|run|sbin|srv|sys|usr|var)(?:/[\w.*-]*)?/?"
_HOME = r"(?:~|\$\{?HOME\}?)"
_EVERYTHING = rf"[\"']?(?:/\*?|{_HOME}[\"']?/?\*?|\.{{1,2}}/?|\./\*|\*|\.git/?|{_SYSTEM})[\"']?(?=[\s;&|\"'`)\],.]*(?:$|[\s;&|\"'`)\]]))"

_R, _F = Level.REJECT, Level.FLAG
_REMOTE, _DESTRUCTIVE, _DYNAMIC = "skill/remote-code", "skill/destructive", "skill/dynamic-code"
_FETCHES = "This fetches something and runs it unseen."
_DECODES = "This decodes something and runs it, so that nobody reads what runs."
_DESTROYS = "This destroys more than a working copy can give back."

COMMAND_RULES = (
    rule(_REMOTE, _R, _FETCHES, rf"\b{_FETCH}\b[^\n]{{0,400}}?{_INTO_SHELL}"),
    rule(
        _REMOTE,
        _R,
        _DECODES,
        rf"\b{_DECODE}[^\n]{{0,400}}?\|&?\s*{_BEFORE}(?:{_SHELL}\b(?!\.)|{_INTERPRETER}\b{_ENDS}(?!\s+-[mc]\b))",
    ),
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        rf"(?:^|[\s;&|`\"'(]){_RUN}(?:\s+|(?=<\())(?:-\w+\s+)*[\"']?(?:<\s*)?(?:\$\(|<\(|`|<<<\s*[\"']?(?:\$\(|`))[^\n]{{0,200}}?\b(?:{_FETCH}\b|{_DECODE})",
    ),
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        r"\b(?:iex|invoke-expression)\b[^\n]{0,200}(?:iwr|irm|invoke-webrequest|downloadstring|http|frombase64)",
    ),
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        r"(?:downloadstring|iwr|irm|invoke-webrequest)\b[^\n]{0,200}\|\s*(?:iex|invoke-expression)\b",
    ),
    rule(_REMOTE, _R, _DECODES, r"\bpowershell(?:\.exe)?\b[^\n]{0,100}\s-e(?:nc\w*)?\s+[\w+/=]{12}"),
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        r"\b(?:exec|eval|compile|function|loads|system|popen|execsync|spawn|run|source|"
        r"instance_eval)\b\s*[(`\"'\s][^\n]{0,160}?(?:urlopen|urllib|requests\.get|httpx\.get|\bfetch\(|open-uri|uri\.open|https?\.get|"
        r"b64decode|fromhex|decompress\(|codecs\.decode|atob\(|unhexlify|buffer\.from\(|base64_decode|marshal\.loads|gzinflate)",
    ),
    rule(
        _REMOTE,
        _R,
        "This hides a program that runs others, or talks to others, in one argument.",
        rf"\b{_INTERPRETER}\s+(?:-\w+\s+)*-\w*[cer]\w*\s*[\"'][^\n]{{0,400}}?(?:\bexec\s*\(|\beval\s*[(\s]|\bsystem\s*\(|"
        r"\bsystem\s+[\"']|popen|urlopen|urllib\.request|requests\.(?:get|post)|subprocess|socket\.socket|create_connection|__import__|"
        r"pty\.spawn|b64decode|child_process|io::socket|net::http|\bfetch\()",
    ),
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        r"\bimport\s*\(\s*[\"'`]https?://",
        r"\bfrom\s+[\"']https?://[^\"']+[\"']",
        r"\b(?:deno|npx|bun)\s+(?:run\s+)?(?:-\S+\s+)*https?://",
    ),
    rule(
        _REMOTE,
        _F,
        "This installs code from an address of its own choosing.",
        r"\b(?:pip[\d.]*|uv\s+pip|uv|pipx|npm|yarn|pnpm|gem|cargo|go)\s+(?:install|i|add|get|run)\b[^\n]{0,120}?(?:git\+|"
        r"https?://(?!(?:pypi\.org|registry\.npmjs\.org|download\.pytorch\.org)\b)|--(?:extra-)?index-url|--registry|--trusted-host)",
        unless=r"localhost|127\.0\.0\.1",
    ),
    rule(
        _REMOTE,
        _F,
        "This gives a shell whatever comes out of a pipe.",
        rf"\|\s*{_BEFORE}{_SHELL}(?:\s+-s\b[^\n]*|\s+-)?\s*(?:$|[`\"')])",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        rf"\brm\s+(?=(?:[^;&|\n]{{0,200}}\s)?(?:-\w*r|--recursive))(?:[^;&|\n]{{0,200}}?\s)?{_EVERYTHING}",
    ),
    rule(_DESTRUCTIVE, _R, _DESTROYS, r"\brm\s[^\n]{0,100}--no-preserve-root"),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        rf"\bfind\s+[\"']?(?:/|{_HOME}|{_SYSTEM})[\"']?\s[^\n]{{0,200}}?(?:-delete\b|(?:-exec\w*|"
        r"xargs(?:\s+-\S+)*)\s+(?:sudo\s+)?(?:/bin/)?(?:rm|shred|unlink|truncate))",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        r"\bfind\s+\.\s+(?:-(?:type|mindepth|maxdepth|depth)\s+\w+\s+|-depth\s+)*-delete\b",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        r"\bmkfs(?:\.\w+)?\s",
        r"\bdd\s[^\n]{0,120}?\bof=/dev/(?!null)",
        r">\s*/dev/(?:sd|nvme|vd|hd|mem|kmem|disk)",
        r"\b(?:wipefs|blkdiscard)\b",
        r"\bshred\s+-",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        "This starts copies of itself until the machine stops.",
        r"([\w:.]{1,20})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        rf"\bch(?:mod|own|grp)\s+(?:-\S+\s+)*(?:-\w*r\w*|--recursive)\s+(?:-\S+\s+)*\S+\s+[\"']?(?:/\*?|{_HOME}|{_SYSTEM})[\"']?(?=[\s;&|`\"')]|$)",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        r"\b(?:rmtree|rmsync|rm_rf|rmdirsync|rimraf(?:\.sync)?|fs\.rm|removeall|remove_dir_all|"
        r"remove_tree)\s*\(?\s*(?:glob(?:\.glob)?\(\s*)?(?:path\.home\(\)|os\.path\.expanduser|os\.getcwd\(\)|process\.cwd\(\)|"
        r"os\.homedir\(\)|path\([\"'](?:/|~)|[\"'](?:/\*?|~(?:/\*?)?|\.{1,2}/?|/(?:bin|boot|etc|home|lib|opt|root|srv|usr|"
        r"var)\b[\w/]*)[\"'])",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        r"\bkill\s+(?:-9|-kill|-s\s+kill)\s+-1\b",
        r"\brd\s+/s\s+/q\s+[a-z]:\\",
        r"\bformat\s+[a-z]:",
        r"\bdel\s+/[sfq]\s[^\n]{0,40}[a-z]:\\",
        r"\bremove-item\b[^\n]{0,80}-recurse[^\n]{0,80}(?:[a-z]:\\|\$home|~)",
    ),
    rule(
        _DESTRUCTIVE,
        _F,
        "This rewrites or removes what others have of the repository.",
        r"\bgit\s+push\b[^\n]{0,120}?(?:--force\b(?!-with-lease)|\s-\w*f\b|--mirror\b|--delete\b|\s\+\w|\s:\w)",
        r"\bgit\s+(?:filter-branch|filter-repo|reflog\s+expire|update-ref\s+-d)",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        "This overwrites the main branch.",
        r"\bgit\s+push\b[^\n]{0,120}?(?:--force\b(?!-with-lease)|\s-f\b|\s\+)[^\n]{0,60}\b(?:main|master|--all|--mirror)\b",
        r"\bgit\s+push\b[^\n]{0,40}--mirror",
    ),
    rule(
        _DESTRUCTIVE,
        _F,
        "This deletes data that no working copy holds.",
        r"(?-i:\bDROP\s+(?:DATABASE|SCHEMA)\b)",
        r"\bterraform\s+destroy\b",
        r"\bkubectl\s+delete\s+(?:ns|namespace|all|pvc|nodes?)\b",
        r"\baws\s+s3\s+r[bm]\b[^\n]{0,100}--(?:recursive|force)",
        r"\bdocker\s+(?:system|volume)\s+prune\b[^\n]{0,60}(?:-\w*a|--volumes)",
        r"\bdropdb\b",
        r"\bredis-cli\b[^\n]{0,40}flushall",
        unless=r"createdb|localhost|_test\b|--if-exists|\b(?:rejects?|refuses?|forbids?|den(?:y|ies)|blocks?)\b",
    ),
    rule(
        _DYNAMIC,
        _R,
        "This builds the name of what it calls, so that nobody can search for it.",
        r"__import__\s*\([^\n]{0,80}\)\s*(?:\.|,\s*[\"'])\s*(?:system|popen|spawn|call|run|check_output|exec|getattr|urlopen)",
        r"getattr\s*\(\s*(?:__import__|__builtins__|builtins|os|subprocess|sys\.modules)\b[^\n]{0,120}(?:\+|\[::|join|decode|chr\()",
    ),
    rule(
        _DYNAMIC,
        _R,
        "This reaches what runs code by a way around its name.",
        r"\b(?:globals|locals|vars)\(\)\s*\[\s*[\"'](?:__builtins__|exec|eval|__import__)",
        r"__builtins__\s*[.\[]\s*(?:__dict__|[\"'])",
        r"(?:constructor\s*\.\s*constructor|\[\s*[\"']constructor[\"']\s*\])\s*\(",
    ),
    rule(
        _DYNAMIC,
        _R,
        "This builds the name of what it imports.",
        r"(?:import_module|__import__|require)\s*\(\s*(?:[\"'][^\"']*[\"']\s*(?:\+|%|\.(?:format|join|replace))|"
        r"[^)\n]{0,60}(?:\[::-1\]|decode\(|chr\(|fromcharcode|reverse\())",
    ),
    rule(
        _DYNAMIC,
        _F,
        "This runs text as code.",
        r"(?<![\w.\-])(?:eval|exec)\s*\(\s*(?![)\"'`\s])",
        unless=r"literal_eval|safe_eval|exec\(open\([\"'][\w./-]+\.py[\"']\)\.read\(\)\)",
    ),
    rule(
        _DYNAMIC,
        _F,
        "This runs text as code, or imports by a name it makes up.",
        r"\b__import__\s*\(",
        r"\bmarshal\.loads\b",
        r"\bnew\s+function\s*\(\s*(?![)\s])",
        r"\bvm\.runin(?:this|new)context\b",
        r"\bbuiltins\.(?:eval|exec)\b",
    ),
    rule(
        _DYNAMIC,
        _F,
        "This has the shell run what a variable or command says.",
        r"(?:^\s*|[;&|`]\s*)eval\s+[\"']?\$(?!\((?:ssh-agent|direnv|pyenv|rbenv|nodenv|brew|conda|mise|zoxide|starship|opam|luarocks|"
        r"dircolors|register-python-argcomplete|minikube|docker-machine)\b)",
    ),
    rule(
        _DYNAMIC,
        _F,
        "This runs a command that is made up at run time.",
        r"\bos\.(?:system|popen)\s*\(\s*(?![\"')\s])\w",
        r"\bctypes\.(?:cdll|windll)\b",
        r"\bpty\.spawn\b",
    ),
    rule(
        _REMOTE,
        _R,
        "This has a harmless program start another one.",
        r"--checkpoint-action\b|--to-command\b|\bproxycommand\s*[=\s]|--use-compress-program[= ](?!zstd|pigz|xz|lz4)|"
        r"\bgit\b[^\n]{0,60}\s-c\s+(?:core|alias|diff|filter)\.\w+=!",
        r"/inet/(?:tcp|udp)/|\bawk\b[^\n]{0,300}\bsystem\s*\(|\b(?:vim?|ed|less|man|more)\b[^\n]{0,60}-c\s+[\"']:?!",
    ),
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        r"\b(?:fetch|download|get|retrieve|load|pull)\b[^\n]{0,120}?https?://\S{1,120}[^\n]{0,40}\b(?:and|then)\s+(?:then\s+)?(?:run|execute|source|eval\w*|follow)\b",
        r"\bdecode\b[^\n.]{0,60}\b(?:and|then)\s+(?:run|execute|eval\w*|pipe|source)\b",
    ),
    rule(
        _REMOTE,
        _F,
        "This takes instructions from a place that can change them.",
        r"\bfollow\s+(?:the\s+)?(?:instructions|steps|rules)\b[^\n.]{0,30}\b(?:at|from|on|in|under)\s+<?https?://",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        r"\b(?:delete|remove|erase|wipe|destroy)\s+(?:everything|(?:all|every)\s+(?:of\s+)?(?:the\s+)?(?:files?|data|contents?|branch(?:es)?|tables?))\s+"
        r"(?:in|from|of|on)\s+(?:the\s+|this\s+|your\s+)?(?:repository|repo|home|machine|disk|system|server|database|workspace|working copy)\b",
        r"\bos\.(?:remove|unlink|rmdir|removedirs)\(\s*[\"']/(?:etc|usr|bin|var|home|root|boot|lib)\b",
    ),
)
