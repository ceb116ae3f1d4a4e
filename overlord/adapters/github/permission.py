"""What Overlord needs at GitHub: the one table of permissions and events that the App, its page and `doctor` share."""

from collections.abc import Mapping

PERMISSIONS: Mapping[str, str] = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "statuses": "write",
    "checks": "read",
    "actions": "read",
    "metadata": "read",
}
"""GitHub's name of each repository permission, and the level: `read`, or `write` for reading and writing."""
EVENTS = (
    "check_run",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "push",
    "status",
)
"""What webhooks tell of; polling finds all of it too."""
GIT: Mapping[str, str] = {"contents": "write"}
"""What one git operation needs."""
ISSUES: Mapping[str, str] = {"issues": "write"}
"""What relating issues of two repositories needs, in both."""
GIT_WHERE_GRANTED: Mapping[str, str] = {"workflows": "write"}
"""What a push may need besides, where somebody granted it."""
LEVELS = ("none", "read", "write", "admin")
SHOWN: Mapping[str, str] = {"pull_requests": "Pull requests", "statuses": "Commit statuses"}
"""How GitHub's pages call a permission where that is not its name with a capital."""


def lacking(granted: Mapping[str, str], needed: Mapping[str, str] = PERMISSIONS) -> dict[str, str]:
    """What is needed and was not granted, or not at that level."""
    return {name: level for name, level in needed.items() if _level(granted.get(name)) < _level(level)}


def shown(permissions: Mapping[str, str]) -> str:
    """Permissions as GitHub's pages write them."""
    words = {"read": "read-only", "write": "read and write"}
    return ", ".join(
        f"{SHOWN.get(name, name.capitalize())}: {words.get(level, level)}"
        for name, level in permissions.items()
    )


def _level(level: str | None) -> int:
    return LEVELS.index(level) if level in LEVELS else 0
