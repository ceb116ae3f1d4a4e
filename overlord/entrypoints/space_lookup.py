"""Asking the forge for a repository before it is put into Overlord's care: a misspelt one would be polled in vain for ever."""

from overlord.adapters.github.connection import connect
from overlord.adapters.github.forge import GitHubForge
from overlord.domain.identifiers import RepositoryName
from overlord.domain.repositories.forge import Repository
from overlord.errors import (
    ExternalServiceError,
    ForgeMissing,
    ForgeUnavailable,
    NotFound,
    Refused,
    SettingsError,
)
from overlord.settings.load import Settings

NOTHING = "Nothing was added."
UNASKED = "`--unchecked` adds it without asking"


async def look_up(settings: Settings, name: str) -> Repository:
    """The repository as the forge has it. Raises NotFound where it has none, ForgeUnavailable where it does not answer, and
    SettingsError where there is no sign-in to ask with; each says that nothing was added."""
    host = _host(settings)
    if not settings.forge.signs_in():
        raise SettingsError(
            f"{host} cannot be asked for {name}: there is no sign-in; set GITHUB_TOKEN, or GITHUB_APP_ID and"
            f" GITHUB_APP_PRIVATE_KEY_FILE. {NOTHING} {UNASKED}"
        )
    forge = connect(GitHubForge, settings)
    try:
        return await forge.repository(RepositoryName(name))
    except ForgeMissing:
        hidden = "the App is not installed there" if settings.forge.app_id else "the token may not see it"
        raise NotFound(f"{host} knows no repository {name}, or {hidden}. {NOTHING}") from None
    except ForgeUnavailable as error:
        raise ForgeUnavailable(
            f"{host} does not answer when asked for {name}: {error}. {NOTHING} {UNASKED}"
        ) from None
    except ExternalServiceError as error:
        raise Refused(f"{name} cannot be looked at: {error}. {NOTHING}") from None
    finally:
        await forge.close()


def _host(settings: Settings) -> str:
    """GitHub, or which one of several."""
    address = settings.forge.api_url.rstrip("/")
    return "GitHub" if address == "https://api.github.com" else f"GitHub at {address}"
