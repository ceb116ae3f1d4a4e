"""What `overlord doctor` finds of the models that repositories work with, and of those that stand in for them."""

from collections.abc import Sequence

from overlord.adapters.model import OpenAIModel
from overlord.domain.model_fault import FaultKind, ModelFault
from overlord.domain.text.redaction import Redactor
from overlord.entrypoints.doctor.finding import Finding, Health, bad
from overlord.errors import SettingsError
from overlord.session_api.gateway import preflight
from overlord.session_api.gateway.model_watch import models_in_use
from overlord.settings.load import Settings
from overlord.settings.model import PRIMARY, Candidate

IN_A_CONTAINER = "Inside a container 127.0.0.1 is the container: this machine is host.docker.internal there."


async def examine_model(settings: Settings) -> Sequence[Finding]:
    """A finding for each model in use; that of the `model` section is looked at in any case."""
    if not settings.model.base_url or not settings.model.name:
        return [bad("model", "none: set OPENAI_BASE_URL, OPENAI_API_KEY and OVERLORD_MODEL")]
    used = [Candidate(), *(item for candidates in models_in_use(settings) for item in candidates)]
    each = {(item.endpoint, settings.model_name(item)): item for item in used}
    return [await _finding(settings, item) for item in each.values()]


async def _finding(settings: Settings, candidate: Candidate) -> Finding:
    name, endpoint = settings.model_name(candidate), settings.endpoint(candidate.endpoint)
    is_first = candidate.endpoint == PRIMARY and name == settings.model.name
    what = "model" if is_first else f"model {name}"
    try:
        fault = await check_endpoint(settings, candidate)
    except SettingsError as error:
        return bad(what, str(error))
    if fault is None:
        return Finding(what=what, health=Health.WELL, said=f"{name} at {endpoint.base_url}")
    return Finding(
        what=what, health=Health.WARN if _rests(fault) else Health.BAD, said=_fault_sentence(fault, name)
    )


async def check_endpoint(settings: Settings, candidate: Candidate) -> ModelFault | None:
    """What keeps one model from being used. Raises SettingsError for an address or a key that is none."""
    endpoint = settings.endpoint(candidate.endpoint)
    key = endpoint.api_key.get_secret_value()
    model = OpenAIModel(endpoint.base_url, key)
    try:
        return await preflight.check(
            model,
            settings.model_name(candidate),
            limit_parameter=endpoint.limit_parameter,
            wire=preflight.wire_asked(endpoint.wire),
            has_key=bool(key),
            redact=Redactor(settings.secrets()).redact,
        )
    finally:
        await model.close()


def _rests(fault: ModelFault) -> bool:
    """Whether there is a model, which has no time just now."""
    return fault.kind in {FaultKind.BUSY, FaultKind.FAILING}


def _fault_sentence(fault: ModelFault, name: str) -> str:
    more = f" {IN_A_CONTAINER}" if fault.kind is FaultKind.UNREACHABLE else ""
    return f"{fault.describe(name)}. {fault.advice}{more}".rstrip(".")
