"""How facts are shown to people at a terminal: which say nothing to them, and in which colour the others stand."""

from overlord.domain.event import EventName

QUIET = frozenset({EventName.DAEMON_STARTED, EventName.SESSION_PREPARED, EventName.SESSION_ENDED})
"""Steps of the machine itself."""
STYLES = {
    EventName.DELIVERED: "bold green",
    EventName.PASSED: "green",
    EventName.REVISION_ORDERED: "magenta",
    EventName.DECISION_RAISED: "bold magenta",
    EventName.STEP_FAILED: "red",
    EventName.MODEL_FAILED: "bold magenta",
}
"""Colours that are read on light and dark terminals alike: yellow is not."""
_CODES = {"bold": "1", "red": "31", "green": "32", "magenta": "35"}


def colour_of(name: str) -> str:
    """The style of a fact as a terminal's code."""
    style = STYLES.get(EventName(name), "") if name in set(EventName) else ""
    return ";".join(_CODES[word] for word in style.split())
