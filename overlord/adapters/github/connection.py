"""From settings to a client that is signed in."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from overlord.adapters.github.client import utc_now
from overlord.adapters.github.forge import GitHubForge
from overlord.metrics import Meters
from overlord.settings.load import Settings

Connected = TypeVar("Connected", bound=GitHubForge)


def connect(
    kind: type[Connected],
    settings: Settings,
    *,
    now: Callable[[], datetime] = utc_now,
    meters: Meters | None = None,
) -> Connected:
    """A client of this kind, signed in as the settings say; an App's tokens go by the clock `now`.

    Raises SettingsError for a token or key that cannot be one.
    """
    endpoint = settings.forge
    if not endpoint.app_id:
        return kind.with_token(
            endpoint.token.get_secret_value(),
            base_url=endpoint.api_url,
            timeout_s=endpoint.timeout_s,
            meters=meters,
        )
    return kind.with_app(
        endpoint.app_id,
        endpoint.private_key.get_secret_value(),
        base_url=endpoint.api_url,
        timeout_s=endpoint.timeout_s,
        now=now,
        meters=meters,
    )
