"""Environment variables and the settings each one sets; secrets may come from files."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from overlord.errors import SettingsError

REACHING_PACKAGES = (
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *(
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "UV_INDEX",
        "NPM_CONFIG_REGISTRY",
        "GOPROXY",
    ),
)
"""How programs on Overlord's own machine reach package indexes; a setup must reach them too."""

MAX_SOCKET_PATH = 107
"""A unix socket's path is limited to this many bytes by the kernel."""
ENVIRONMENT: Mapping[str, tuple[str, ...]] = {
    "OVERLORD_REPOS": ("repositories",),
    "OVERLORD_RUNNER": ("runner",),
    "OVERLORD_MODEL": ("model", "name"),
    "OPENAI_BASE_URL": ("model", "base_url"),
    "OPENAI_API_KEY": ("model", "api_key"),
    "GITHUB_API_URL": ("forge", "api_url"),
    "GITHUB_TOKEN": ("forge", "token"),
    "GITHUB_APP_ID": ("forge", "app_id"),
    "GITHUB_APP_PRIVATE_KEY_FILE": ("forge", "private_key_file"),
    "GITHUB_WEBHOOK_SECRET": ("listen", "webhook_secret"),
    "OVERLORD_LISTEN": ("listen", "address"),
    "OVERLORD_SESSION_LISTENER": ("session_listener", "address"),
    "OVERLORD_PAGE": ("page", "address"),
    "OVERLORD_PAGE_URL": ("page", "url"),
    "GITHUB_APP_CLIENT_ID": ("page", "github_client_id"),
    "GITHUB_APP_CLIENT_SECRET": ("page", "github_client_secret"),
    "SLACK_API_URL": ("slack", "api_url"),
    "SLACK_BOT_TOKEN": ("slack", "bot_token"),
    "SLACK_APP_TOKEN": ("slack", "app_token"),
    "SLACK_SIGNING_SECRET": ("slack", "signing_secret"),
    "SLACK_CHANNEL_ID": ("slack", "channel"),
    "OVERLORD_CHAT_PAGE": ("slack", "page"),
    "OVERLORD_METRICS_TOKEN": ("listen", "metrics_token"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("tracing", "endpoint"),
    "OTEL_EXPORTER_OTLP_HEADERS": ("tracing", "headers"),
    "DOCKER_HOST": ("docker", "host"),
    **{name: ("environments", "variables", name) for name in REACHING_PACKAGES},
}
"""Environment variables and the setting each one sets. Each that names no file itself also exists as `<NAME>_FILE`: a
file that holds the value."""

SECRETS = frozenset(
    {
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "GITHUB_WEBHOOK_SECRET",
        "GITHUB_APP_CLIENT_SECRET",
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
        "SLACK_SIGNING_SECRET",
        "OVERLORD_METRICS_TOKEN",
        "OVERLORD_TOKEN",
        "OTEL_EXPORTER_OTLP_HEADERS",
    }
)
"""Those that hold secrets and that no other program is started with. (A proxy's address may hold one too; git needs it.)"""

PREFIX = "OVERLORD_"
_NOT_SETTINGS = frozenset(
    {
        *("OVERLORD_HOME", "OVERLORD_CONFIG", "OVERLORD_REQUIRE", "OVERLORD_COMMAND"),
        *("OVERLORD_URL", "OVERLORD_TOKEN"),
    }
)


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """What environment variables say, nested as settings are. Raises SettingsError for an `OVERLORD_*` nobody knows."""
    known = _NOT_SETTINGS | ENVIRONMENT.keys() | {f"{name}_FILE" for name in ENVIRONMENT}
    if unknown := sorted(name for name in environment if name.startswith(PREFIX) and name not in known):
        raise SettingsError(_unknown(unknown[0], known))
    found: dict[str, Any] = {}
    for name, keys in ENVIRONMENT.items():
        value = _variable(environment, name)
        if value is None:
            continue
        section = found
        for key in keys[:-1]:
            section = section.setdefault(key, {})
        is_list = keys == ("repositories",)
        section[keys[-1]] = [part.strip() for part in value.split(",") if part.strip()] if is_list else value
    return found


def _unknown(name: str, known: Iterable[str]) -> str:
    from overlord.domain.text.near import did_you_mean  # commands that read no settings do without

    ours = {item.removeprefix(PREFIX) for item in known if item.startswith(PREFIX)}
    ours = {item for item in ours if not item.endswith("_FILE")}
    near = did_you_mean(name.removeprefix(PREFIX), ours, prefix=PREFIX) or ";"
    return f"unknown environment variable {name}{near} known: {', '.join(sorted(PREFIX + item for item in ours))}"


def _variable(environment: Mapping[str, str], name: str) -> str | None:
    file = environment.get(f"{name}_FILE")
    if not file or name.endswith("_FILE"):
        return environment.get(name) or None
    if environment.get(name):
        raise SettingsError(f"both {name} and {name}_FILE are set; keep one")
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}_FILE names {file}, which cannot be read: {reason_of(error)}") from None


def reason_of(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, in words."""
    if isinstance(error, PermissionError):
        return f"this user (uid {os.geteuid()}) may not; let it, with chown or chmod"
    return error.strerror or "unknown" if isinstance(error, OSError) else "it is no UTF-8 text"


def home_of(environment: Mapping[str, str]) -> Path:
    """Where the state is kept, whatever else is set."""
    return Path(environment.get("OVERLORD_HOME") or Path.home() / ".overlord").expanduser().absolute()


def check_socket_path(home: Path) -> None:
    """Raises SettingsError when a session API's socket under this home would have too long a path."""
    length = len(str(home / "run" / "12345678" / "s").encode())
    if length > MAX_SOCKET_PATH:
        raise SettingsError(
            f"OVERLORD_HOME={home} is too long: its sockets would need {length} bytes, and a path may have"
            f" {MAX_SOCKET_PATH}. Choose a home at least {length - MAX_SOCKET_PATH} bytes shorter."
        )
