"""When a run has passed: its branch is merged where that was said in advance, or the person at the terminal is asked."""

import asyncio
import termios
from dataclasses import replace
from enum import StrEnum

from overlord.domain.identifiers import Sha
from overlord.entrypoints.local import asking
from overlord.entrypoints.local.build import merge_back
from overlord.entrypoints.local.build.merge_back import Merge, Refusal, Target
from overlord.entrypoints.local.interruption import Interruption
from overlord.entrypoints.local.result import Outcome
from overlord.entrypoints.terminal.show import line, show_text


class MergeWish(StrEnum):
    """What the user said of merging."""

    UNSAID = ""
    """Nothing: the branch stays beside theirs."""
    ASK = "ask"
    YES = "yes"
    NO = "no"


async def settle(outcome: Outcome) -> Outcome:
    """Merge a result that passed, where that was said in advance; else leave it. A refusal is told with the result."""
    if outcome.record.merge != MergeWish.YES or not _is_result(outcome):
        return outcome
    try:
        prepared = await _prepared(outcome)
        await merge_back.merge(prepared)
    except Refusal as refused:
        return replace(outcome, merge_refused=str(refused))
    return replace(outcome, merged=prepared.sentence)


async def offer(outcome: Outcome, interruption: Interruption) -> None:
    """Ask the person at the terminal whether to merge a result that passed. What stands against it is told in place of a question."""
    if outcome.record.merge != MergeWish.ASK or not _is_result(outcome):
        return
    try:
        prepared = await _prepared(outcome)
        if prepared.is_done:
            return
        if not await _is_wanted(prepared, interruption):
            show_text("It was not merged.")
            return
        prepared = await _prepared(outcome)  # there was time to change something
        await merge_back.merge(prepared)
    except Refusal as refused:
        show_text(f"It cannot be merged here now: {refused}.")
        return
    show_text(prepared.sentence)


def _is_result(outcome: Outcome) -> bool:
    return outcome.passed and outcome.landed is not None and not outcome.interrupted


async def _prepared(outcome: Outcome) -> Merge:
    place, landed = outcome.place, outcome.landed
    assert landed is not None
    if place.checkout is None:
        raise Refusal("the repository was named by its address, and has no working tree here")
    target = Target(
        checkout=place.checkout, branch=landed.branch, commit=Sha(landed.commit), onto=outcome.record.onto
    )
    return await merge_back.prepare(target)


async def _is_wanted(prepared: Merge, interruption: Interruption) -> bool:
    """Whether the person says yes; leaving with Ctrl-C, or with the end of the input, is a no."""
    termios.tcflush(asking.STDIN, termios.TCIFLUSH)  # what was typed before is no answer to this
    question = f"Merge {line(prepared.target.branch)} into {line(prepared.target.onto)} now? [y/N] "
    asked = asyncio.create_task(asking.read_line(question))
    stopped = asyncio.create_task(interruption.came.wait())
    try:
        await asyncio.wait({asked, stopped}, return_when=asyncio.FIRST_COMPLETED)
        typed = asked.result() if asked.done() else None
        return (typed or "").lower() in {"y", "yes"}
    finally:
        for task in (asked, stopped):
            task.cancel()
        await asyncio.gather(asked, stopped, return_exceptions=True)
