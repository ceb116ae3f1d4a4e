"""Which model a run works with: the configured endpoint, or an Ollama that answers at its usual address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from overlord.adapters.http import open_client
from overlord.errors import SettingsError
from overlord.settings.load import Settings

OPENAI = "https://api.openai.com/v1"
OLLAMA_PORT = 11434
LOOK_S = 3.0
_MOST_LOOKED_AT = 20
_NAMED = 8

NO_MODEL = """\
no model: nothing is configured, and no Ollama answers at {address}. Any one of these gives you one:
  a hosted key         export OPENAI_BASE_URL=https://api.openai.com/v1 OPENAI_API_KEY=… OVERLORD_MODEL=…
  Ollama               ollama pull qwen3-coder, and OLLAMA_CONTEXT_LENGTH=32768 ollama serve
  any compatible one   export OPENAI_BASE_URL=http://HOST:PORT/v1 OVERLORD_MODEL=…"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model of a run: what goes over the settings, and what to tell the user."""

    name: str
    address: str
    notice: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


async def choose(settings: Settings, wanted: str, environment: Mapping[str, str]) -> Choice:
    """The configured endpoint with `wanted` or its own model; else Ollama. Raises SettingsError when there is none."""
    endpoint, name = settings.model, wanted or settings.model.name
    base_url = endpoint.base_url or (OPENAI if endpoint.api_key.get_secret_value() else "")
    if base_url:
        if not name:
            raise SettingsError(
                f"{base_url} is configured, and no model is named: give --model, or set OVERLORD_MODEL"
            )
        return Choice(name=name, address=base_url, settings={"base_url": base_url, "name": name})
    address = ollama_address(environment.get("OLLAMA_HOST", ""))
    async with open_client(address, httpx.Timeout(LOOK_S)) as client:
        names = await _models(client, address)
        if names is None:
            raise SettingsError(NO_MODEL.format(address=address))
        found = await _pick(client, address, names, name)
    text = f"Model {found} of Ollama at {address}: nothing else is configured."
    ours = {"base_url": f"{address}/v1", "name": found, "api_key": "ollama", "limit_parameter": "max_tokens"}
    return Choice(name=found, address=address, notice=text, settings=ours)


def ollama_address(host: str) -> str:
    """OLLAMA_HOST as Ollama reads it: a host, with a port or not, with a scheme or not; all addresses mean this machine."""
    text = host.strip().rstrip("/") or "127.0.0.1"
    try:
        url = httpx.URL(text if "://" in text else f"http://{text}")
        name = "127.0.0.1" if url.host in {"", "0.0.0.0", "::"} else url.host  # noqa: S104 - an address to ask, not to serve
        default = (
            OLLAMA_PORT if "://" not in text else {"http": 80, "https": 443}.get(url.scheme, OLLAMA_PORT)
        )
        return str(url.copy_with(host=name, port=url.port or default, path="")).rstrip("/")
    except (httpx.InvalidURL, TypeError):
        raise SettingsError(f"OLLAMA_HOST={host} is no address; as in 127.0.0.1:11434") from None


async def _models(client: httpx.AsyncClient, address: str) -> Sequence[str] | None:
    """Ollama's models, the last used first; None when nothing of the kind answers."""
    try:
        reply = await client.get(f"{address}/api/tags")
        return [str(item["name"]) for item in reply.raise_for_status().json()["models"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError):
        return None


async def _pick(client: httpx.AsyncClient, address: str, names: Sequence[str], wanted: str) -> str:
    if wanted:
        for name in (wanted, f"{wanted}:latest"):
            if name in names:
                return name
        known = ", ".join(names[:_NAMED]) or "none"
        raise SettingsError(
            f"Ollama at {address} has no model {wanted}; it has {known}. Get it with `ollama pull {wanted}`"
        )
    for name in names[:_MOST_LOOKED_AT]:
        if await _calls_tools(client, address, name):
            return name
    raise SettingsError(
        f"Ollama answers at {address}, and none of its models can call tools: `ollama pull qwen3-coder`, or name one"
        " with --model"
    )


async def _calls_tools(client: httpx.AsyncClient, address: str, name: str) -> bool:
    """Whether a model says that it can; an older Ollama does not tell, and then it is tried."""
    try:
        reply = await client.post(f"{address}/api/show", json={"model": name})
        return "tools" in reply.raise_for_status().json().get("capabilities", ["tools"])
    except (httpx.HTTPError, ValueError, AttributeError, TypeError):
        return False
