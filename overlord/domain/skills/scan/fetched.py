"""A file that one line of a skill fetches and the same or a later one runs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from overlord.domain.skills.finding import SkillFinding, shown_finding
from overlord.domain.skills.scan.line import LogicalLine
from overlord.domain.skills.scan.prohibition import forbidden
from overlord.domain.skills.scan.reading import seen, undisguised
from overlord.domain.skills.scan.rule import Level
from overlord.domain.text.plain import visible

_SAVED = re.compile(
    r"\b(?:curl|wget|iwr|invoke-webrequest|aria2c)\b[^\n]{0,300}?(?:\s-o|\s-O|\s--output(?:-document)?|\s-OutFile|>)[ =]?\s*[\"']?(?P<file>[^\s\"';&|]{2,100})",
    re.IGNORECASE,
)
_BY_ADDRESS = re.compile(
    r"\b(?:wget|curl\s+(?:-\w+\s+)*-\w*O\w*|curl\s+--remote-name)\b[^\n]{0,300}?https?://[^\s\"'`]{1,300}/(?P<file>[\w.-]{2,80}\.(?:sh|py|pl|rb|js|bin|run|ps1|exe|out|txt|env|conf))\b",
    re.IGNORECASE,
)
_RUN = (
    r"(?:\b(?:sh|bash|zsh|dash|source|python[\d.]*|perl|ruby|node|sudo|exec|nohup)\s+(?:-\S+\s+){{0,8}}(?:<\s*)?|\bchmod\s+\S{{0,30}}[x75]\S{{0,30}}\s+|"
    r"(?:^|[;&|`]\s*|\brun\s+[`\"']?)(?:\./|/|~/|\.\s+))[\"']?(?:[\w.$/~{{}}-]*/)?{name}(?![\w-])|"
    r"\bcat\s+\S{{0,60}}?{name}[\"']?\s*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"
)
_MOST_SAVED = 50


def fetched_then_run(
    lines: Sequence[LogicalLine], wholes: Sequence[LogicalLine], names: Mapping[str, str]
) -> Iterator[SkillFinding]:
    """What one line fetches and the same or a later one runs; then the same of paragraphs and values."""
    known: dict[str, str] = {}
    reported: set[str] = set()
    everything = sorted((*lines, *wholes), key=lambda line: (line.number, line.last))
    for group in (lines, everything):
        for file, finding in list(_in_order(group, names, known)):
            if group is lines or file not in reported:
                reported.add(file)
                yield finding


def _in_order(
    lines: Iterable[LogicalLine], names: Mapping[str, str], known: dict[str, str]
) -> Iterator[tuple[str, SkillFinding]]:
    saved: list[str] = []
    for line in lines:
        if line.is_code:
            continue
        if line.text not in known:
            known[line.text] = undisguised(seen(line.text), names)
        text = known[line.text]
        found = [match["file"] for pattern in (_SAVED, _BY_ADDRESS) for match in pattern.finditer(text)]
        new = [file for file in found if file not in saved and not file.startswith("/dev/")]
        saved = [*saved, *dict.fromkeys(new)][-_MOST_SAVED:]
        for file in saved:
            name = file.rsplit("/", 1)[-1].rstrip("`),.")
            if name in text and name and (match := re.search(_RUN.format(name=re.escape(name)), text)):
                message = f"This runs {visible(file)[:80]!r}, which was fetched just before."
                prohibition = forbidden(line.header, text, match.start(), match.end())
                level, message = prohibition.of(Level.REJECT, message)
                number = line.number_at(match.start()) if text == line.text else line.number
                yield file, shown_finding("skill/remote-code", level, message, number, line.text)
