"""Proof of change: which tests show that a change was needed and does something.

A test proves it when it fails without the change's source and passes with it: one that was red at base in base's own version, or
one of the change's own that fails where base's source is put back. A name that base does not have yet is no proof by itself: then the
test must assert something about it. Without proof the change is asked for a test once, by name; what then happens the setting says.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from minion.protocol import Finding
from overlord.domain.checks.testcode.compare import Compared
from overlord.domain.checks.testruns.junit import Case
from overlord.domain.checks.testruns.run import Run, Runs, bare_name, is_in
from overlord.domain.evaluation import CheckName

UNPROVEN = "unproven"
_ABSENT = re.compile(
    r"\b(?:ImportError|ModuleNotFoundError|NameError|AttributeError|ReferenceError|NoSuchMethodError|UndefinedError)\b"
    r"|unexpected keyword argument|positional arguments? but|is not a function|is not defined|is not a constructor|undefined:"
    r"|[Cc]annot find (?:module|name)|does not provide an export|has no attribute|cannot import name|No module named"
)
_ASSERTED = re.compile(
    r"\bassert|AssertionError|\bexpect(?:ed)?\b|DID NOT RAISE|\bwant\b|Not equal|Failed:", re.IGNORECASE
)
_SUGGESTION = "Add a test that asserts the behaviour the issue asks for: it must fail on the code as it is at base, and pass with your change."


class ProofPolicy(StrEnum):
    """What is made of a change that no test proves, once it was asked for one."""

    REQUIRED = "required"
    """A person must approve."""
    ASKED = "asked"
    """It is delivered, and marked."""
    OFF = "off"
    """Nothing is asked."""


def proving(runs: Runs, fixed: tuple[Case, ...], compared: Compared | None) -> Iterator[Case]:
    """The tests that fail without the change and pass with it."""
    yield from fixed
    if runs.new_on_base is None:
        return
    for case in runs.head.passed:
        if (
            is_in(case, runs.changed)
            and not runs.base.fails(case.id)
            and _proves(case, runs.new_on_base, compared)
        ):
            yield case


def why_unproven(runs: Runs) -> str:
    """Why no test proves the change, in a sentence."""
    new = [case for case in runs.head.passed if case.id not in runs.base.cases]
    if not new:
        return "no test fails without this change."
    shown = ", ".join(bare_name(case) for case in new[:3])
    if runs.new_on_base is not None and all(runs.new_on_base.passes(case.id) for case in new):
        return f"the new tests pass without this change as well ({shown})."
    return f"no test shows by an assertion that this change is needed ({shown})."


def unproven(why: str) -> Finding:
    """The finding that asks for a test, and that marks what was delivered without one."""
    return Finding(check=CheckName.TESTS, rule=UNPROVEN, message=f"Unproven: {why}", suggestion=_SUGGESTION)


def _proves(case: Case, on_base: Run, compared: Compared | None) -> bool:
    before = on_base.cases.get(case.id)
    if before is None:
        reason, in_body = on_base.why_missing(case), False
        if not _ABSENT.search(reason):
            return False
    elif on_base.fails(case.id):
        reason, in_body = before.message, not before.is_error
    else:
        return False
    asserts = compared.proves(case.file, bare_name(case)) if compared is not None else None
    is_absent = not in_body or bool(_ABSENT.search(reason))
    if not is_absent and _ASSERTED.search(reason):
        return asserts is not False
    return asserts is True or (asserts is None and not is_absent)
