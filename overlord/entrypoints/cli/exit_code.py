"""How a command's end is told to whoever called it: one code for each kind of error."""

from overlord import errors

EXIT_CODES = """\
Exit codes: 0 done · 1 it was done and the answer is bad (a broken ledger, a rejected skill, a contract that breaks a rule, a demo or run that ended badly \
or waits for a person) · 2 wrong usage · 3 wrong configuration · 4 no such thing · 5 refused as things stand · 6 state or \
external service unavailable · 7 another daemon has taken over · 130 interrupted, nothing lost.
"""

_CODES: tuple[tuple[type[errors.OverlordError], int], ...] = (
    (errors.SettingsError, 3),
    (errors.ContractError, 3),
    (errors.NotFound, 4),
    (errors.Refused, 5),
    (errors.StateReplaced, 6),
    (errors.Fenced, 7),
    (errors.OverlordError, 6),
)


def code_of(error: errors.OverlordError) -> int:
    return next(code for kind, code in _CODES if isinstance(error, kind))
