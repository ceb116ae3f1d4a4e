"""What `overlord doctor` looks at in GitHub: sign-in, permissions, labels and the rate limit, repository by repository.

It changes nothing, but for the labels it is asked to make.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from overlord.adapters.github.access import Allowance, GitHubPermissions, Identity
from overlord.adapters.github.connection import connect
from overlord.adapters.github.permission import PERMISSIONS, lacking, shown
from overlord.domain.identifiers import RepositoryName
from overlord.domain.repositories.forge import Repository
from overlord.entrypoints.doctor.finding import Finding, bad, warn, well
from overlord.entrypoints.doctor.tests import examine_tests
from overlord.errors import ForgeMissing, OverlordError, SettingsError
from overlord.settings.load import Settings

LABELS: Mapping[str, tuple[str, str]] = {
    "work": ("0e8a16", "Overlord, please do this"),
    "in_progress": ("fbca04", "Overlord is at work on this"),
    "in_review": ("1d76db", "Overlord has opened a pull request for this"),
    "attention": ("d93f0b", "Overlord waits for a person here"),
    "priority": ("b60205", "Overlord takes this before the others"),
    "skill_change": ("5319e7", "This changes skills that Minions load; a person must approve it"),
}
"""For each label of the settings its colour and description, where Overlord makes it."""
LOW = 0.1
"""The part of an hour's requests below which what is left is worth a warning."""
READABLE_BY_OTHERS = 0o044
UNSEEN = "check its name in OVERLORD_REPOS, and that the App is installed on it or the token may see it"
NO_SIGN_IN = "no sign-in: set GITHUB_TOKEN, or GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY_FILE"


async def examine_forge(settings: Settings, *, fix: bool) -> Sequence[Finding]:
    """Every finding about the forge; `fix` makes the labels that are missing."""
    if not settings.forge.signs_in():
        return [bad(name, NO_SIGN_IN) for name in settings.repositories]
    try:
        permissions = connect(GitHubPermissions, settings)
    except SettingsError as error:
        return [bad("sign-in", str(error))]
    found, limits = _key_file(settings.forge.private_key_file), dict[str, Finding]()
    try:
        for name in map(RepositoryName, settings.repositories):
            found += await _repository(permissions, settings, name, limits, fix=fix)
    finally:
        await permissions.close()
    return [*found, *limits.values()]


def _key_file(file: str) -> list[Finding]:
    """The App's private key is nobody's but this user's."""
    if not file:
        return []
    path = Path(file).expanduser()
    if path.stat().st_mode & READABLE_BY_OTHERS:
        return [warn("app key", f"{path} can be read by others of this machine; run `chmod 600 {path}`")]
    return [well("app key", f"{path}, readable by its owner alone")]


async def _repository(
    permissions: GitHubPermissions,
    settings: Settings,
    name: RepositoryName,
    limits: dict[str, Finding],
    *,
    fix: bool,
) -> Sequence[Finding]:
    found, what = list[Finding](), str(name)
    try:
        repository = await permissions.repository(name)
        identity = await permissions.identity(name)
        where = f"at {settings.forge.api_url}, branch {repository.default_branch}, as {identity.shown}"
        found += [well(what, where), _permissions(name, repository, identity)]
        what = f"{name} labels"
        found.append(await _labels(permissions, settings, name, fix=fix))
        found.append(await examine_tests(settings, name, repository.default_branch))
        what = f"{name} rate limit"
        if identity.key not in limits:
            limits[identity.key] = _limit(identity, await permissions.allowance(name))
    except ForgeMissing as error:
        found.append(bad(what, f"{error}; {UNSEEN}" if what == name else str(error)))
    except OverlordError as error:
        found.append(bad(what, str(error)))
    return found


def _permissions(name: str, repository: Repository, identity: Identity) -> Finding:
    """All of an App's; of a token GitHub tells only whether it may push."""
    what = f"{name} permissions"
    if identity.permissions is None:
        if repository.can_push:
            return well(what, "the token may push; GitHub does not tell what else a token may")
        return bad(what, f"the token may not push; it needs {shown(PERMISSIONS)}")
    if missing := lacking(identity.permissions):
        text = (
            f"lacks {shown(missing)}; add it on the App's page under Permissions & events, then accept it at"
        )
        return bad(what, f"{text} {identity.settings_url}")
    return well(what, shown(PERMISSIONS))


async def _labels(
    permissions: GitHubPermissions, settings: Settings, name: RepositoryName, *, fix: bool
) -> Finding:
    what = f"{name} labels"
    named: Mapping[str, str] = settings.space(name).labels.model_dump()
    there = {label.casefold() for label in await permissions.labels(name)}
    missing = {kind: label for kind, label in named.items() if label.casefold() not in there}
    if not missing:
        return well(what, ", ".join(named.values()))
    words = ", ".join(missing.values())
    if not fix:
        return warn(what, f"there is no {words}; `overlord doctor --fix` makes them")
    for kind, label in missing.items():
        color, description = LABELS[kind]
        await permissions.create_label(name, label, color=color, description=description)
    return well(what, f"made {words}")


def _limit(identity: Identity, allowance: Allowance | None) -> Finding:
    what = f"rate limit {identity.key}".strip()
    if allowance is None:
        return well(what, "none at this server")
    text = f"{allowance.remaining:,} of {allowance.limit:,} requests left, all again at {allowance.resets_at:%H:%M} UTC"
    if allowance.remaining < allowance.limit * LOW:
        return warn(what, f"{text}; something else uses this sign-in, or poll_s is too short")
    return well(what, text)
