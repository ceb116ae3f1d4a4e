"""Accounts and installations as GitHub shows them to themselves, and people as a repository knows them."""

from typing import Any

from overlord.embedded.forge.api.shape import Json, Shape, moment
from overlord.embedded.forge.record import App

BORN_AT = "2008-02-08T00:00:00Z"
"""Accounts and installations here keep no birthday."""
SEARCHES = 30
"""How many searches GitHub allows in a minute; nobody searches here."""


def account(shape: Shape, login: str) -> Json:
    """An account as it sees itself, with a profile nobody has filled in."""
    return shape.user(login) | {
        **dict.fromkeys(("name", "company", "location", "email", "hireable", "bio"), None),
        **dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0),
        **dict.fromkeys(("private_gists", "total_private_repos", "owned_private_repos"), 0),
        **dict.fromkeys(("disk_usage", "collaborators"), 0),
        "blog": "",
        "two_factor_authentication": False,
        "user_view_type": "private",
        "created_at": BORN_AT,
        "updated_at": BORN_AT,
    }


def collaborator(shape: Shape, login: str, permission: str, role: str) -> Json:
    """An account and what it may do in a repository: `permission` is the old word for it, `role` the new one."""
    admin, writes = permission == "admin", permission in ("admin", "write")
    may = {"admin": admin, "maintain": admin, "push": writes, "triage": writes, "pull": permission != "none"}
    return shape.user(login) | {"permissions": may, "role_name": role}


def installation(shape: Shape, app: App, owner: str) -> Json:
    """Where an app is installed, and with which permissions."""
    account = shape.user(owner)
    api = f"{shape.origin}/app/installations/{app.installation_id}"
    return {
        "id": app.installation_id,
        "app_id": app.id,
        "app_slug": app.slug,
        "account": account,
        "target_id": account["id"],
        "target_type": "Organization",
        "repository_selection": "selected",
        "access_tokens_url": f"{api}/access_tokens",
        "repositories_url": f"{shape.origin}/installation/repositories",
        "html_url": f"{shape.origin}/organizations/{owner}/settings/installations/{app.installation_id}",
        "permissions": app.permissions,
        "events": [],
        "single_file_name": None,
        "created_at": BORN_AT,
        "updated_at": BORN_AT,
        "suspended_at": moment(app.suspended_at),
        "suspended_by": None,
    }


def limits(core: dict[str, Any]) -> Json:
    """What is left of every limit; only the one of the REST API is counted here."""
    search = {"limit": SEARCHES, "used": 0, "remaining": SEARCHES, "reset": core["reset"]}
    return {"resources": {"core": core, "search": search}, "rate": core}
