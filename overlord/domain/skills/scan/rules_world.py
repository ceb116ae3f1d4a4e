"""Rules about what lies outside a working copy: the machine, secrets, other hosts."""

from overlord.domain.skills.scan.rule import Level, rule

_R, _F = Level.REJECT, Level.FLAG
_SYSTEM, _SECRET, _SENDS = "skill/system-path", "skill/secret-access", "skill/exfiltration"
_HOME = r"(?:~|\$\{?HOME\}?|/root|/home/[\w.*-]+|%userprofile%|path\.home\(\)|/users/[\w.*-]+)"
_READS = (
    r"(?:\b(?:cat|tac|less|more|head|tail|cp|mv|tar|zip|scp|rsync|base64|xxd|od|strings|grep|awk|sed|sort|open|read|read_text|"
    r"readfile(?:sync)?|source|"
    r"load|print|send|upload|include|paste|copy|attach|dump|collect|get-content|type|find|ls)\b|@|<)[^\n]{0,60}?"
)
_CREDENTIALS = (
    r"\.(?:ssh(?:/[\w.*-]*)?|aws(?:/\w+)?|netrc|git-credentials|gnupg|kube/config|docker/config\.json|pypirc|config/(?:gh|gcloud)\b|vault-token|"
    r"(?:ba|z)sh_history|npmrc|password-store|mozilla/firefox|config/google-chrome)"
)
_SECRET_NAME = r"(?-i:\b(?:[A-Z][A-Z0-9]*_)*(?:TOKEN|SECRET|API_?KEY|ACCESS_KEY(?:_ID)?|PRIVATE_KEY|PASSWORD|PASSWD|CREDENTIALS?)(?>(?:_[A-Z0-9]++)*)\b)"
_VALUE_OF = r"(?:\$\{?|environ(?:\.get)?\s*[\[(]\s*[\"']|getenv\(\s*[\"']|process\.env\.|process\.env\[[\"']|env\[[\"']|\$env:)"
_ELSEWHERE = r"(?:https?|ftp|wss?)://(?!(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|[\w-]+(?::\d+)(?:/|\b)(?!\.))[^\s]*+)"
_ALL_ENVIRONMENT = (
    r"(?:dict\(os\.environ|os\.environ\.(?:items|copy)\(\)|json\.dumps\(\s*(?:dict\()?os\.environ|"
    r"print\(\s*(?:dict\()?os\.environ\s*\)|str\(os\.environ\)|json\.stringify\(\s*process\.env|console\.log\(\s*process\.env\s*\)|"
    r"env\.to_h)"
)
_GRAVE = (
    r"(?:secrets?|credentials?|api[ -]?keys?|(?:api|access|auth|github|personal access|service account)[ -]?tokens?|"
    r"environment variables?|env vars?|environment|passwords?|private keys?|ssh keys?|system prompt|\.env(?: files?)?)"
)

WORLD_RULES = (
    rule(
        _SYSTEM,
        _R,
        "This reads where people keep credentials.",
        rf"{_READS}{_HOME}[\"']?(?:\s*/\s*[\"']?|/){_CREDENTIALS}",
    ),
    rule(
        _SYSTEM,
        _F,
        "This names a place where people keep credentials.",
        rf"(?:{_HOME}[\"']?(?:\s*/\s*[\"']?|/))(?!\.ssh/[\w-]{{1,60}}\.pub\b){_CREDENTIALS}",
        r"\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub\b)",
    ),
    rule(
        _SYSTEM,
        _R,
        "This names files that hold the machine's passwords or rights.",
        r"/etc/(?:shadow|gshadow|sudoers)\b",
    ),
    rule(
        _SYSTEM,
        _R,
        "This reads the machine's own files.",
        rf"{_READS}(?<![./\w])/etc/(?:passwd|ssh/|machine-id|kubernetes)",
        unless=r"\.\./|traversal|assert",
    ),
    rule(
        _SYSTEM,
        _R,
        "This reads what other processes hold, or what a container was given in confidence.",
        r"/proc/(?:self|\d+|\*|\$\$|\$\{?\w+\}?|\[0-9\]\*|<?pid>?)/(?:environ|mem|root|maps|cwd|fd)\b",
        r"/var/run/secrets",
        r"/run/secrets",
        r"/run/door\b",
    ),
    rule(
        _SYSTEM,
        _R,
        "This asks a cloud for the machine's credentials.",
        r"169\.254\.169\.254",
        r"metadata\.google\.internal",
        r"100\.100\.100\.200",
        r"fd00:ec2::254",
        r"\b2852039166\b",
        r"0xa9fea9fe",
        r"169\.254\.43518",
    ),
    rule(
        _SYSTEM,
        _F,
        "This reaches the machine by its container engine.",
        r"/(?:var/)?run/docker\.sock",
        r"\bdocker\s+run\b[^\n]{0,200}(?:--privileged|-v\s+/:|--pid[ =]host|--net(?:work)?[ =]host)",
    ),
    rule(
        _SYSTEM,
        _R,
        "This leaves its container.",
        r"\bnsenter\b",
        r"\bdocker\s+run\b[^\n]{0,200}-v\s+/:",
        r"\bchroot\s+/(?:host|mnt)",
        r"/proc/sys/kernel/core_pattern",
        r"/sys/fs/cgroup[^\n]{0,60}release_agent",
    ),
    rule(
        _SYSTEM,
        _R,
        "This makes something stay on the machine, or changes whom it trusts.",
        rf"(?:>>?\s*|\btee\s+(?:-a\s+)?|\b(?:cp|mv|install|ln)\s[^\n;|&]{{0,100}}\s)[\"']?(?:{_HOME}/\.(?:bashrc|profile|bash_profile|"
        r"zshrc|zprofile|bash_login|ssh/|config/autostart|gitconfig)|/etc/(?:cron|profile|rc\.local|ld\.so|sudoers|passwd|hosts|"
        r"systemd|pam\.d|init\.d))",
    ),
    rule(
        _SYSTEM,
        _R,
        "This makes something stay on the machine, or gives somebody rights on it.",
        r"\bcrontab\s+(?:-(?![lu]\b)|/|\w+\.\w+)",
        r"\|\s*crontab\b",
        r"@reboot\b",
        r"\bsystemctl\s+(?:enable|mask)\b",
        r"\b(?:useradd|adduser|usermod|visudo)\s",
        r"\bnopasswd\b",
        r"authorized_keys",
        r"\bld_preload\s*=",
        r"\bschtasks\b[^\n]{0,60}/create",
        r"\blaunchctl\s+load",
    ),
    rule(
        _SYSTEM,
        _R,
        "This makes git run something later, on whoever uses the repository.",
        r"(?:>>?\s*|\btee\s|\bcp\s[^\n]{0,80}|\bln\s[^\n]{0,80}|\b(?:write|create|add|install|put|drop|save)\b[^\n]{0,60})\.git/hooks/",
        r"\bcore\.(?:hookspath|fsmonitor|sshcommand|pager|editor)\b\s*[=\s]\s*\S",
        r"\bgit\s+config\b[^\n]{0,80}(?:credential\.helper|\.insteadof|alias\.\w+\s+[\"']?!)",
        r"\.git/config\b",
        unless=r"core\.hookspath\s+\.(?:githooks|husky|hooks)\b",
    ),
    rule(
        _SYSTEM,
        _R,
        "This opens the machine, or covers what was done on it.",
        r"\bchmod\s+(?:-\w+\s+)*(?:[246][0-7]{3}\b|[ugo]*\+\w*s\b)",
        r"\bsetcap\b",
        r"\bsetenforce\s+0",
        r"\biptables\s+-F",
        r"\bufw\s+disable",
        r"\bhistory\s+-c\b",
        r"\bunset\s+histfile",
        r"\bhistfile=/dev/null",
        r"\bcrontab\s+-r\b",
        r"\binsmod\b",
    ),
    rule(
        _SYSTEM,
        _F,
        "This writes outside the working copy.",
        r"(?:>>?\s*|\btee\s+(?:-a\s+)?|\b(?:cp|mv|install|ln|touch|mkdir)\s(?:[^\n;|&]{0,100}\s)?)[\"']?/(?:etc|usr|bin|sbin|boot|"
        r"lib\w*|sys|proc|root|opt)/\S",
    ),
    rule(
        _SYSTEM,
        _F,
        "This names a file of the machine's own.",
        r"(?<![./\w])/etc/passwd\b",
        unless=r"\.\./|traversal|assert|escape|outside",
    ),
    rule(
        _SYSTEM,
        _F,
        "This has an agent change the settings it works under.",
        r"\b(?:edit|change|modify|rewrite|write|overwrite|append|touch|sed\s+-i|extend|widen|relax|delete|remove|"
        r"rm)\b[^\n.]{0,60}\.nebulus(?:/|\b)(?!/skills/\S*\.md)",
    ),
    rule(
        _SECRET,
        _R,
        "This shows the value of a secret.",
        r"\b(?:echo|printf|cat|tee|base64|xxd|print|puts|console\.(?:log|error|info)|log(?:ger)?\.\w+|write(?:line)?|"
        rf"write_text)\b[^\n]{{0,80}}?{_VALUE_OF}{_SECRET_NAME}(?!:?[+?-])",
        unless=r"--password-stdin|\$\{#|is set|is not set|:\+",
    ),
    rule(
        _SECRET,
        _R,
        "This asks for the value of a secret.",
        r"\b(?:paste|print|reveal|send|post|upload|commit|quote|leak|share|echo|include|repeat|disclose|append|encode|"
        r"embed)\s+(?:(?:the|your|our|its|all|every|any|value|values|of|current|content|contents|first|last|full|whole|"
        rf"environment variable|variable|whatever|is|in|from|characters|and|raw)\s+){{0,8}}[`\"'$]*{_SECRET_NAME}",
        unless=r"password-stdin|as a header|placeholder|dummy|fake",
    ),
    rule(
        _SECRET,
        _R,
        "This dumps the environment, where secrets are kept.",
        r"(?:\b(?:env|printenv|set|export\s+-p|declare\s+-[px]+|compgen\s+-v)\s*(?:>|>>)\s*\S|\b(?:env|printenv)\b\s*\|\s*(?!grep|sort|"
        r"head|wc|awk|less|sed|cut|fgrep|egrep|column)\w|\b(?:env|printenv|"
        r"set)\s*\|\s*(?:sort\s*\|\s*)?(?:grep\s+(?:-\w+\s+)*[\"']?\S*(?:token|secret|key|pass|cred|api)))",
    ),
    rule(_SECRET, _R, "This dumps the environment, where secrets are kept.", _ALL_ENVIRONMENT),
    rule(
        _SECRET,
        _F,
        "This shows the whole environment.",
        r"(?:^\s*|[;&|`$(]\s*)printenv\b\s*(?:$|[;&|`)\"'])",
        r"(?:\"|'|`)env(?:\"|'|`)\s+and\s+(?:include|paste|show|report)",
    ),
    rule(
        _SECRET,
        _R,
        "This asks for secrets, or for what an agent was told in confidence.",
        r"\b(?:print|send|include|paste|reveal|upload|post|commit|share|leak|disclose|exfiltrate|forward|collect|gather|harvest|dump|"
        r"email|encode|append|report|list|output|repeat|copy)\b\s+(?:(?:out|me|us|them|back|the|all|any|every|your|our|of|value|values|"
        r"contents?|available|whole|full|local|current|complete|hidden|entire|found|verbatim|it|with|"
        rf"and)\s+){{0,6}}[`\"']?(?:{_GRAVE})\b",
        unless=(
            r"\b(?:placeholder|example|dummy|fake|names of (?:the )?environment|which environment|environment variables? (?:it|they|"
            r"the (?:app|service|module)) (?:reads?|uses?|needs?))|(?:environment|env) (?:name|file name|matrix|markers?|setup|id)\b|"
            r"list environments\b|(?:README|docs?|documentation)\b"
        ),
    ),
    rule(
        _SENDS,
        _R,
        "This opens a connection to another host, and hands it a shell or a file.",
        r"/dev/(?:tcp|udp)/",
        r"\b(?:nc|ncat|netcat)\b[^\n]{0,60}\s(?:-\w*[ec]\b|--exec|--sh-exec)",
        r"\b(?:nc|ncat|netcat)\s+(?:-\w+\s+)*[\w.-]+\.\w+\s+\d{2,5}",
        r"\bsocat\b[^\n]{0,80}(?:exec|tcp|openssl)",
        r"\bbash\s+-i\b[^\n]{0,20}>&",
        r"\bmkfifo\b[^\n]{0,120}\bnc\b",
        r"\|\s*(?:nc|ncat|netcat|telnet)\s",
    ),
    rule(
        _SENDS,
        _R,
        "This names a place where things are dropped for strangers.",
        r"\b(?:webhook\.site|requestbin\.\w+|[\w-]{1,63}\.ngrok(?:-free)?\.\w+|pastebin\.com|transfer\.sh|file\.io|0x0\.st|ix\.io|"
        r"termbin\.com|hastebin\.\w+|burpcollaborator\.net|oastify\.com|interact\.sh|oast\.\w+|requestcatcher\.com|pipedream\.net|"
        r"beeceptor\.com|discord(?:app)?\.com/api/webhooks|hooks\.slack\.com/\S+|api\.telegram\.org/bot)",
    ),
    rule(
        _SENDS,
        _R,
        "This sends a file, or what a command says, to another host.",
        r"\b(?:curl|wget|http|iwr|invoke-webrequest|invoke-restmethod)\b[^\n]{0,300}?(?:(?:\s-d|\s-F|\s--data\S*|\s-T|\s--upload-file|"
        r"\s--form|--post-file|--body-file|\s-InFile)[ =]*[\"']?(?:\w+=)?@?[^\s]{0,60}(?:@|\$\(|`)|--post-file|--upload-file\s|"
        r"\s-T\s+\S)",
        unless=r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b|@(?:tests?|fixtures?|testdata|payload|body|request)\b",
    ),
    rule(
        _SENDS,
        _R,
        "This puts what a command or a secret says into an address.",
        r"https?://[^\s\"'`]{1,200}(?:\$\(|`[a-z]|\$\{?(?-i:[A-Z_]*(?:TOKEN|SECRET|KEY|PASSWORD|ENV|DATA|CREDENTIALS?)[A-Z_]*)\b)",
        r"\b(?:dig|nslookup|host|ping|getent)\s+(?:[+-]\S+\s+|[\w.]+\s+){0,3}[^\s]{0,60}(?:\$\(|\$\{?(?-i:[A-Z_]*(?:TOKEN|SECRET|KEY|PASSWORD)))",
    ),
    rule(
        _SENDS,
        _R,
        "This sends a secret to another host.",
        rf"\b(?:curl|wget|http)\b[^\n]{{0,300}}?\$\{{?{_SECRET_NAME}[^\n]{{0,200}}?{_ELSEWHERE}",
        rf"\b(?:curl|wget|http)\b[^\n]{{0,200}}?{_ELSEWHERE}[^\n]{{0,200}}?(?:-d|-F|--data\S*)\s[^\n]{{0,60}}\$\{{?{_SECRET_NAME}",
    ),
    rule(
        _SENDS,
        _R,
        "This sends a file or a secret to another host.",
        r"\b(?:requests|httpx|axios|urllib3?|session|client|fetch|urlopen|got|"
        r"http)\b[.(\w]{0,20}[^\n]{0,200}?(?:open\([^)\n]{1,80}\)(?:\.read\(\))?|read_text\(\)|read_bytes\(\)|readfilesync|os\.environ|"
        r"process\.env|getenv\()",
        unless=r"localhost|127\.0\.0\.1|base_url|timeout|_url\b|endpoint|_host\b|fixture|cassette",
    ),
    rule(
        _SENDS,
        _R,
        "This copies files to another host.",
        r"\b(?:scp|rsync|sftp)\b\s[^\n]{0,120}?\b[\w.-]+@[\w.-]+:",
        r"\bscp\s[^\n]{0,120}\s[\w-]+\.[\w.-]+:",
    ),
    rule(
        _SENDS,
        _R,
        "This asks for something to be sent away.",
        r"\b(?:send|upload|post|forward|transmit|submit|email|mail|push|leak|exfiltrate|copy|ship|deliver|"
        r"report)\b[^\n]{0,80}?\b(?:secrets?|credentials?|source(?: code)?|repository|repo|environment|env|keys?|tokens?|diff|files?|"
        r"contents?|conversation|transcript|prompt|everything|results? of|output of|issue text)\b[^\n]{0,60}?\b(?:to|at|"
        r"into)\b\s*(?:the\s+(?:url|address|endpoint|server|webhook)\s*)?[<`\"'(]*(?:https?://|[\w.+-]{1,64}+@[\w-]+\.\w+|"
        r"(?:\d{1,3}\.){3}\d{1,3})",
        unless=r"localhost|127\.0\.0\.1",
    ),
    rule(
        _SENDS,
        _R,
        "This puts text into the address of a picture, which a reader's browser then asks for.",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]*[?&=/](?:\{|\$|<|%7b|\[|\w*(?:data|secret|token|leak|env)\w*=)",
    ),
    rule(
        _SENDS,
        _F,
        "This sends something to another host; sessions have no network.",
        rf"\b(?:curl|wget)\b[^\n]{{0,200}}?(?:\s-d|\s--data\S*|\s-F|\s-X\s*(?:POST|PUT))\s[^\n]{{0,200}}?{_ELSEWHERE}",
        rf"\b(?:curl|wget)\b[^\n]{{0,120}}?{_ELSEWHERE}[^\n]{{0,120}}?(?:\s-d|\s--data\S*|\s-F|\s-X\s*(?:POST|PUT))\s",
        unless=r"\bexample\.(?:com|org|net)\b|api\.github\.com",
    ),
    rule(
        _SENDS,
        _R,
        "This gives the repository to another host.",
        r"\bgit\s+push\b[^\n]{0,80}(?:https?://|git@|ssh://)|\bgit\s+remote\s+(?:add|set-url)\b[^\n]{0,200}\bgit\s+push\b",
    ),
    rule(
        _SENDS,
        _F,
        "This names another place to push to.",
        r"\bgit\s+remote\s+(?:add|set-url)\b[^\n]{0,120}(?:://|git@)|\bgit\s+push\b[^\n]{0,60}\s--all\b",
    ),
    rule(
        _SECRET,
        _R,
        "This asks for the value of a secret.",
        rf"\b(?:set|put|write|add|place|store|copy)\b[^\n.]{{0,40}}{_SECRET_NAME}[^\n.]{{0,30}}\b(?:in|into|to)\s+(?:the\s+|your\s+)?"
        r"(?:commit message|pull request|summary|issue|comment|report)\b",
        rf"{_SECRET_NAME}[^\n.]{{0,60}}\b(?:and|then)\s+(?:print|echo|post|send|show|log|paste|commit)\s+it\b",
        r"\bfind\b[^\n]{0,120}-i?name\s+[\"']?\*?\.?(?:env|pem|key|id_rsa|netrc)\b[^\n]{0,80}-exec\s+(?:cat|cp|tar|base64|curl)\b",
    ),
)
