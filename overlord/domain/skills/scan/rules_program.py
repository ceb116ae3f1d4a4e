"""Rules about ways round the plain form of a harmful command: another program runs it, reads it or tells where it is."""

from overlord.domain.skills.scan.rule import Level, rule

_R, _F = Level.REJECT, Level.FLAG
_REMOTE, _DESTRUCTIVE, _DYNAMIC = "skill/remote-code", "skill/destructive", "skill/dynamic-code"
_SECRET, _SENDS = "skill/secret-access", "skill/exfiltration"
_FETCH = r"\b(?:curl|wget|aria2c|lynx|nc|ncat|ftp|tftp|httpie)\b"
_SH = r"(?:ba|z|da|k)?sh\b"
_WHICHEVER = r"[\"']?\$\{?(?:SHELL|BASH|0)\}?(?!\w)"
_FETCHES = "This fetches something and runs it unseen."
_DESTROYS = "This destroys more than a working copy can give back."
_UNREAD = "This runs what a file or a registry holds at the time, which nobody has read."
_BUILT = "This reaches what runs code by a way around its name."
_EACH_LINE = r"\|\s*while\s+(?:IFS=\S*\s+)?read\b[^\n]{0,120}?\bdo\b[^\n]{0,60}?(?:\beval\b|\bsh\s+-c\b|(?:\bdo|;)\s+\$\w+)"
_TOKEN = r"(?-i:\b(?:GITHUB|GH|SLACK|SLACK_BOT|SLACK_APP|OPENAI|ANTHROPIC|OPENROUTER|OVERLORD)_(?:[A-Z]+_)?(?:TOKEN|KEY|SECRET)\b)"

PROGRAM_RULES = (
    rule(
        _REMOTE,
        _R,
        _FETCHES,
        rf"{_FETCH}[^\n]{{0,400}}?\|\s*(?:sudo\s+)?{_WHICHEVER}",
        rf"{_FETCH}[^\n]{{0,400}}?{_EACH_LINE}",
        rf"\bawk\b[^\n]{{0,300}}?\|\s*\\?[\"']\s*{_SH}",
        rf"\s-f\s*<\(\s*{_FETCH}",
    ),
    rule(_REMOTE, _F, "This gives a shell whatever comes out of a pipe.", rf"\|\s*{_WHICHEVER}", _EACH_LINE),
    rule(
        _REMOTE,
        _R,
        "This hides a program that runs others in one argument.",
        r"\bphp\s+-r\b[^\n]{0,200}?\b(?:shell_exec|passthru|proc_open|system|exec)\s*\(",
        r"\bperl\s+(?:-\w+\s+)*-\w*e\b[^\n]{0,200}?\b(?:exec|system)\s*(?:q\b|qq\b|qw\b|[(\"'])",
        r"\bnode\s+-\w*p\w*\s[^\n]{0,300}?\b(?:child_process|execsync)\b",
    ),
    rule(
        _REMOTE,
        _F,
        _UNREAD,
        rf"\b{_SH}\s+-c\s+[\"']?(?:\$\(|`)\s*(?:cat\b|<)",
        r"\bgit\s+clone\s[^\n]{0,200}?\s(/?[\w.~-][\w./~-]{1,60}?)/?\s*(?:&&|;)[^\n]{0,80}?[\s;&/]\1/[\w./-]+\.(?:sh|py|rb|pl)\b",
        r"\bgo\s+run\s+[\w-]+\.[\w.-]+/\S{1,200}@\w",
        r"\bnpx\s+(?:-y|--yes)\s",
        r"\b(?:uvx|pipx\s+run)\s[^\n]{0,60}?(?:git\+|https?://)",
        r"\brunpy\.run_(?:path|module)\b",
    ),
    rule(
        _DYNAMIC,
        _R,
        _BUILT,
        r"\b(?:os|sys|subprocess|builtins|importlib|posix)\.__dict__\s*\[",
        r"__subclasses__\s*\(\s*\)",
    ),
    rule(
        _DYNAMIC,
        _F,
        "This reads or imports by a name that is made up at run time.",
        r"\bimport_module\(\s*(?!__name__)[a-z_]\w*\s*[),]",
        r"\b(?:echo|printf|print)\b[^\n]{0,40}\$\{!\w+\}",
    ),
    rule(
        _DESTRUCTIVE,
        _R,
        _DESTROYS,
        r"\bgit\s+ls-files\b[^\n]{0,60}?\|\s*xargs(?:\s+-\S+)*\s+(?:rm|truncate|shred|unlink)\b",
        r"\bxargs(?:\s+-\S+)*\s+(?:truncate|shred)\b",
        r"\b(?:ls|find|echo|printf)\s+(?:-\S+\s+)*[\"']?(?:/|~|\$\{?HOME\}?|\*)[\"']?\s*\|\s*xargs(?:\s+-\S+)*\s+(?:sudo\s+)?rm\b",
        r"\bdd\b[^\n]{0,120}?\bof=[\"']?/dev/[\"']?(?:sd|nvme|vd|hd|mmcblk|disk)",
        r"\bmv\s+(?:-\S+\s+)*\S{1,100}\s+/dev/null\b",
        r"(?:\bof=|>\s*)[\"']?(?:\./)?\.git/(?:index|HEAD|config|refs|objects)\b",
    ),
    rule(
        _SECRET,
        _R,
        "This reads a secret that people keep for themselves.",
        r"\bgit\s+credential(?:-\w+)?\s+(?:fill|get)\b",
        r"\bgh\s+auth\s+token\b[^\n]{0,20}[|>]",
        r"\b(?:echo|printf?|cat|curl|wget|base64|tee|env)\b[^\n]{0,80}?\$\{\{\s*secrets\.",
        r"\bvariables?\b[^\n.]{0,40}?\b(?:begin|start|name)s?\b[^\n.]{0,40}?\bends?\b[^\n.]{0,20}?(?-i:TOKEN|SECRET|KEY|PASSWORD)\b",
        rf"\b(?:use|take|with)\s+(?:the\s+|your\s+)?[`\"'$]*{_TOKEN}[^\n.]{{0,60}}?\bto\s+(?:post|push|send|call|sign|log|open|merge|approve|write|comment)\b",
    ),
    rule(_SECRET, _F, "This reads a secret that people keep for themselves.", r"\bgh\s+auth\s+token\b"),
    rule(
        _SENDS,
        _R,
        "This puts data into a name that another host is asked for.",
        r"\bgethostbyname\w*\(\s*[^\"')\n]{0,80}(?:\([^)\n]{0,40}\)[^\"')\n]{0,40})?\+\s*f?[\"']\.",
        r"\bgethostbyname\w*\(\s*f[\"'][^\"'\n]{0,80}\{",
    ),
    rule(
        _SENDS,
        _F,
        "This may put data into a name that another host is asked for.",
        r"\b(?:dig|nslookup|drill)\s[^\n]{0,60}?\$\{?\w+\}?\.[\w-]+\.",
    ),
)
