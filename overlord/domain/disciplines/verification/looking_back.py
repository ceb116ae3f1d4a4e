"""Retrospective and trainer: the entries that are cited exist, and the records were written."""

from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.verification.seen import Seen
from overlord.domain.knowledge.retrospective import cited_entries
from overlord.domain.text.plain import count, visible

MOST_NAMED = 5


def judge_retrospective(seen: Seen) -> Verification:
    """Whether every note rests on entries of the history that the worker was given."""
    if not seen.entries:
        return Verification(verified=False, why="The session has no history to look back on.")
    by_note = cited_entries(seen.result.runner_output)
    if by_note is None:
        return Verification(
            verified=False, why='Its notes are not in form: runner_output is one JSON object, {"notes": […]}.'
        )
    if not all(by_note):
        return Verification(verified=False, why="A note cites nothing: each names the entries that show it.")
    cited = tuple(dict.fromkeys(ref for refs in by_note for ref in refs))
    if strange := [ref for ref in cited if ref not in seen.entries]:
        named = ", ".join(" ".join(ref.split())[:40] for ref in strange[:MOST_NAMED])
        return Verification(verified=False, why=visible(f"It cites entries that it was not given: {named}."))
    if not cited:
        return Verification(verified=True, why="It notes nothing, so it cites nothing.")
    return Verification(verified=True, why=f"All that is cited exists: {', '.join(cited[:MOST_NAMED])}.")


def judge_trainer(seen: Seen) -> Verification:
    """Whether records were written: what is good enough to be one its own gate says."""
    if seen.records > 0:
        return Verification(verified=True, why=f"{count(seen.records, 'record')} written.")
    return Verification(verified=False, why="No record was written.")
