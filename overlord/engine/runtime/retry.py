"""How long to wait before what failed is tried again: it doubles with each failure in a row, up to a limit.

In the chat people wait for a word, and one wait is the whole channel's: there the limit is some seconds, and a wait that Slack
asks for is kept as it is. A forge that asks is given at least that.
"""

from overlord.errors import ChatRefused, ChatUnavailable

FIRST_S = 2.0
LONGEST_S = 300.0
RETRY_LATER = "waiting to try again: "
"""How the reason of a job begins whose step is tried again later."""
CHAT_LONGEST_S = 8.0
"""For a chat that answers, with a fault: such a fault often ends within seconds."""
CHAT_AWAY_LONGEST_S = 30.0
"""For a chat that does not answer: each attempt takes its timeout as well."""
LEAST_ASKED_S = 1.0
LONGEST_ASKED_S = 3600.0
"""As far off as a forge's limits end; one that seems to ask for longer, or we, have a clock that is wrong."""


def delay_s(error: Exception, failures: int) -> float:
    """How long to wait after this error, which was the last of so many in a row."""
    asked: float | None = getattr(error, "retry_after_s", None)
    if isinstance(error, ChatUnavailable) and asked is not None:
        return min(max(asked, LEAST_ASKED_S), LONGEST_ASKED_S)
    grown = FIRST_S * 2.0 ** min(failures - 1, 16)
    return max(min(grown, _longest_s(error)), min(asked or 0.0, LONGEST_ASKED_S))


def _longest_s(error: Exception) -> float:
    if isinstance(error, ChatUnavailable):
        return CHAT_AWAY_LONGEST_S if error.is_away else CHAT_LONGEST_S
    return CHAT_LONGEST_S if isinstance(error, ChatRefused) else LONGEST_S
