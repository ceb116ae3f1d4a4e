"""The card beside the data: what is in it, how it was made, what was left out and why, and what whoever uses it has to know."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from overlord.domain.text.plain import count, defused_line, size_text
from overlord.entrypoints.training.reading import Format
from overlord.entrypoints.training.writing import Export

_MADE = {
    Format.SFT: (
        "`prompt` is the task of a job that was merged, `completion` what its last work that passed every check reported and changed."
    ),
    Format.DPO: (
        "`prompt` is the task of a job. `chosen` is the diff that passed every check, `rejected` one that did not, of an earlier session"
        " with the same task. What the checks held against it is in neither."
    ),
    Format.KTO: (
        "`prompt` is the task of a job, `completion` its last work that passed every check. `label` is true where people merged its pull"
        " request, and false where they closed it, or dropped the job."
    ),
    Format.MESSAGES: (
        "`messages` is what a session of a merged job and its model said to each other, `tools` the tools that it called. A conversation"
        " that was shortened on its way is several records."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What the card says beside what was counted."""

    since: date | None
    space: str
    made_at: datetime
    version: str
    licence: Callable[[str, str], str]
    """The licence of a repository at a commit."""

    def text(self, made: Export) -> str:
        """The page."""
        parts = (
            self._head(made),
            self._sources(made),
            self._left_out(made),
            self._warning(),
            self._files(made),
        )
        return "\n".join(line for part in parts for line in part) + "\n"

    def _head(self, made: Export) -> Iterator[str]:
        since = f", since {self.since.isoformat()}" if self.since else ""
        space = f" of {_words(self.space)}" if self.space else ""
        yield f"# Training data: {made.format}"
        yield ""
        yield (
            f"{count(made.records, 'record')} of {count(made.jobs, 'job')}{space} that ended from {made.first} to {made.last}"
            f" (asked for: all that ended{since}). Made on {self.made_at:%Y-%m-%d %H:%M} UTC by Overlord {self.version}"
            " from its ledger and its evidence."
        )
        yield ""
        yield f"One JSON object a line, in the form that TRL reads. {_MADE[made.format]}"

    def _sources(self, made: Export) -> Iterator[str]:
        yield from (
            "",
            "## What is in it",
            "",
            "| repository | licence | agent | model | records |",
            "|---|---|---|---|---|",
        )
        licences = {space: self.licence(space, made.bases.get(space, "")) for space, _, _ in made.by_source}
        for (space, agent, model), number in sorted(made.by_source.items()):
            cells = (space, licences[space], agent or "unknown", model or "unknown")
            yield f"| {' | '.join(map(_words, cells))} | {number:,} |"

    def _left_out(self, made: Export) -> Iterator[str]:
        yield from ("", "## What was left out", "")
        for reason, number in sorted(made.left_out.items(), key=lambda item: (-item[1], item[0])):
            yield f"- {number:,} × {_words(reason)}"
        if made.same:
            yield f"- {made.same:,} × the same record was there already"
        if not made.left_out and not made.same:
            yield "Nothing."

    def _warning(self) -> Iterator[str]:
        yield from ("", "## Before you use it", "")
        yield "- **It holds code of these repositories**, with their paths, names and identifiers. A model that is trained on it may repeat it."
        yield (
            "- The licences are told from the file at the commit that the last job began on, by its words alone. `unknown: ask` means that"
            " there was none, or none that is known: ask whoever owns the repository. Code of others inside a repository may have another one."
        )
        yield (
            "- Secrets were taken out when the evidence was kept, and each record was looked through again: one with anything that looks like"
            " a secret is not in it. That finds no secret that looks like an ordinary word."
        )
        yield "- Texts of issues, comments and models are as they were written: nobody has looked whether they are true."

    def _files(self, made: Export) -> Iterator[str]:
        yield from ("", "## Files", "", "| file | size | SHA-256 |", "|---|---|---|")
        yield f"| {made.file} | {size_text(made.size)} | `{made.sha256}` |"


def _words(text: str) -> str:
    return defused_line(text).replace("|", "&#124;")
