"""Calls that have ended with a change, without anybody who worked on them."""

import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from overlord.domain.disciplines.call import Call, CallId, CallState
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.entrypoints.mcp.checkout_backend import CheckoutBackend, opened
from overlord.store.evidence import EvidenceStore
from tests.mcp_checkout.checkouts import Content, Kept, raw_git, write


@contextlib.asynccontextmanager
async def served(kept: Kept) -> AsyncIterator[CheckoutBackend]:
    """The backend of a checkout, with nobody who works for it."""
    environment = {"HOME": str(kept.home), "OVERLORD_HOME": str(kept.home)}
    async with opened(kept.root, environment) as backend:
        yield backend


async def called(
    kept: Kept,
    backend: CheckoutBackend,
    files: dict[str, Content],
    worked: Path,
    age: timedelta = timedelta(),
) -> Call:
    """A call that has ended with a change of these files."""
    ground = await backend.ground(str(kept.root))
    mirror = backend.at.home.mirror(ground.space)
    raw_git(worked.parent, "clone", "--quiet", "--no-checkout", str(mirror), str(worked))
    raw_git(worked, "fetch", "--quiet", str(mirror), ground.base_sha)
    raw_git(worked, "checkout", "--quiet", "--force", ground.base_sha)
    write(worked, files)
    patch = kept.patch_of(worked, ground.base_sha)
    at = datetime.now(UTC) - age
    return Call(
        id=CallId(1),
        discipline=DisciplineName.TDD_GREEN,
        space=ground.space,
        session_key="",
        actor=backend.actor,
        base_sha=ground.base_sha,
        state=CallState.ENDED,
        patch=EvidenceStore(backend.at.home.evidence).put(patch),
        created_at=at,
        ended_at=at,
    )
