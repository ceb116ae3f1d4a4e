"""A home whose every secret setting holds a canary, each one another, and some with characters that formats write in their own way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from overlord.settings.load import Settings, load
from tests.app_keys import write_key

CANARIES: dict[str, Any] = {
    "model": {"base_url": "http://127.0.0.1:9/v1", "name": "scripted", "api_key": "canary-model-key"},
    "endpoints": {"spare": {"base_url": "http://127.0.0.1:9/v1", "api_key": "canary-spare-key"}},
    "forge": {"app_id": "1"},
    "page": {
        "url": "https://overlord.example.org",
        "github_client_id": "Iv1.client",
        "github_client_secret": "canary-client-secret",
    },
    "listen": {"webhook_secret": "canary'web\"hook\\sécret", "metrics_token": "canary-metrics-token"},
    "slack": {
        "bot_token": "xoxb-canary-bot",
        "app_token": "xapp-canary-app",
        "signing_secret": "canary-signing",
        "channel": "C0123456789",
    },
    "environments": {"variables": {"PIP_INDEX_URL": "https://reader:canary-index@index.example/simple"}},
    "spaces": {
        "acme/calc": {
            "setup_secrets": {"INDEX_TOKEN": "canary\nof two lines, each of some length"},
            "mcp": {
                "own": {
                    "url": "https://own.example/mcp",
                    "headers": {"X-Key": "canary-own-mcp"},
                    "tools": ["find"],
                }
            },
        }
    },
    "mcp": {
        "docs": {
            "url": "https://docs.example/mcp",
            "headers": {"authorization": "Bearer canary-mcp"},
            "tools": ["search"],
        }
    },
    "tracing": {"headers": {"authorization": "Bearer canary tracing"}},
}
ELSEWHERE = ("forge.token",)
"""A secret that cannot be given beside those above; it is like any other."""


def canary_home(root: Path) -> Settings:
    """Settings as a daemon with that home has them."""
    home = root / "home"
    home.mkdir()
    given = {**CANARIES, "forge": {"app_id": "1", "private_key_file": str(write_key(root / "key.pem"))}}
    (home / "overlord.yaml").write_text(yaml.safe_dump({"repositories": ["acme/calc"], **given}))
    return load({"OVERLORD_HOME": str(home)})


def secret_fields(section: type[BaseModel], path: str = "") -> Iterator[str]:
    """The names of every setting that is declared a secret, also inside lists and mappings."""
    for name, field in section.model_fields.items():
        described = repr(field.annotation)
        if "SecretStr" in described:
            yield f"{path}{name}"
        for kind in _sections(field.annotation):
            yield from secret_fields(kind, f"{path}{name}.")


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _sections(inner)


def parts_of(secret: str) -> list[str]:
    """What of a secret may be nowhere: all of it, and each line of a key."""
    return [line for line in secret.splitlines() if len(line) >= 10 and "PRIVATE KEY" not in line]
