"""The API against its own description: whatever it allows, and whatever it does not, is answered as it says (schemathesis)."""

import asyncio
import copy
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from overlord.embedded.play import blocked
from tests.web.api_client import PREFIX, Program, made_program
from tests.web.test_page import WORK

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    unsupported_method,
]
EXAMPLES = 4
"""Of each address, allowed and not."""
ENDLESS = f"{PREFIX}/events"


async def _filled(asking: Program) -> None:
    """A job that is done, and one that waits."""
    world = asking.page.world
    await world.issue("add() subtracts")
    world.model_will(*WORK, when="add() subtracts")
    await world.issue("another thing")
    world.model_will(blocked("I need the password"), when="another thing")
    await world.settle()


def _sent(described: dict[str, Any], asking: Program, mode: GenerationMode) -> int:
    """Send to each address what its description allows or not; returns to how many."""
    schema = schemathesis.openapi.from_dict(copy.deepcopy(described))
    schema.config.update(base_url=asking.page.address.rstrip("/"))
    headers, count = {"Authorization": f"Bearer {asking.token}"}, 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if operation.path == ENDLESS:
            continue

        @hypothesis.settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=CHECKS, timeout=30)

        try:
            run()
        except hypothesis.errors.Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE, "only what takes anything at all cannot be asked wrongly"
            continue
        count += 1
    return count


@pytest.mark.parametrize("mode", list(GenerationMode))
async def test_whatever_is_sent_is_answered_as_described(mode: GenerationMode) -> None:
    async with made_program() as asking:
        await _filled(asking)
        described = (await asking.client.get(f"{PREFIX}/openapi.json")).json()
        tried = await asyncio.to_thread(_sent, described, asking, mode)
        assert tried > len(described["paths"]) // 2
        assert (await asking.client.get(f"{PREFIX}/me")).status_code == 200, "it still answers"
