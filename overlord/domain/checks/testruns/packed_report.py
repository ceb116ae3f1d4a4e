"""Packed reports of tests before they are kept: secrets of Overlord's are taken out of them, in pieces."""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import replace

from minion.checks.packed import PREFIX, TooLarge, pack, unpacked
from minion.protocol import CheckReport, StepResult
from overlord.domain.text.redaction import Redactor


def without_values_in(report: CheckReport, redactor: Redactor) -> CheckReport:
    """The report with a mark in place of every known secret inside what is packed; what cannot be unpacked is left out, and said."""
    steps = tuple(_clean(step, redactor) for step in report.steps)
    return report if steps == report.steps else replace(report, steps=steps)


def _clean(step: StepResult, redactor: Redactor) -> StepResult:
    if not any(text.startswith(PREFIX) for text in (step.junit or "", *step.rerun_junit)):
        return step
    try:
        junit = None if step.junit is None else _repacked(step.junit, redactor)
        return replace(
            step, junit=junit, rerun_junit=tuple(_repacked(text, redactor) for text in step.rerun_junit)
        )
    except TooLarge:
        return replace(step, junit=None, rerun_junit=(), unread="the report is too large")
    except ValueError as error:
        return replace(step, junit=None, rerun_junit=(), unread=str(error))


def _repacked(text: str, redactor: Redactor) -> str:
    return pack(_lines_without(text, redactor)) if text.startswith(PREFIX) else text


def _lines_without(text: str, redactor: Redactor) -> Iterator[bytes]:
    """Whole lines at a time: a secret's lines are known one by one."""
    rest, decoder = "", getincrementaldecoder("utf-8")("replace")
    for piece in unpacked(text):
        whole, newline, rest = (rest + decoder.decode(piece)).rpartition("\n")
        yield redactor.without_values(whole + newline).encode()
    yield redactor.without_values(rest).encode()
