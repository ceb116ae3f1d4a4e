"""What the campaign's fork server has ready before the first daemon: all that one imports, also what libraries import late, and
what a daemon makes once: it makes it in every process otherwise, and a story has five.

Nothing of it is looked at again by a daemon's garbage collection, nor while it is imported: see `unswept.py`.
"""

import gc
import importlib
import os
from typing import get_type_hints

from httpx import Timeout

from minion.protocol import Finding, Issue, StepResult
from overlord.adapters.http import open_client
from overlord.config_files import packaged
from overlord.domain.changes.paths import guard_of, is_lint_configuration
from overlord.domain.job import Job
from overlord.domain.review.rubric import load_rubric
from overlord.domain.session import Session
from overlord.queries import registry as queries
from overlord.settings.load import contract_for, load
from overlord.smart_http import backend
from overlord.store.checks.evaluations import EvaluationRow
from overlord.store.conversation.follow_ups import FollowUp
from overlord.store.environments import Environment
from overlord.store.rows import adapter
from overlord.verbs import registry as verbs

LATE = (
    "tests.faults.cut",
    "anyio._backends._asyncio",
    "certifi",
    "concurrent.futures.thread",
    "httpcore",
    "httpcore._backends.anyio",
    "importlib.readers",
    "overlord.domain.skills.scan.scan",
    "overlord.entrypoints.cli.query_command",
    "overlord.entrypoints.cli.verb_command",
    "overlord.entrypoints.local.start",
    "typer._adapters",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
)
COMMANDS = (
    "daemon",
    "decision",
    "skills.draft",
    "job",
    "ledger",
    "proposal",
    "run",
    "space",
    "token",
    "work",
)
"""Commands are imported when they are typed."""

WRITTEN = (Finding, Issue, StepResult)
"""Parts of records, which are also written by themselves."""
READ = (Job, Session, EvaluationRow, Environment, FollowUp)
PLAIN = "a/file.py"
"""A path that every pattern is tried on."""


def _ready() -> None:
    for name in (*LATE, *(f"overlord.entrypoints.cli.commands.{command}" for command in COMMANDS)):
        importlib.import_module(name)
    queries.queries()
    verbs.verbs()
    contract_for(load({"OVERLORD_HOME": "/nowhere"}), "acme/calc")
    load_rubric(packaged("rubric.yaml"), "the built-in rubric")
    open_client("http://127.0.0.1:9", Timeout(1.0))
    guard_of(PLAIN)
    backend(os.environ.get("PATH", os.defpath))
    is_lint_configuration(PLAIN)
    for kind in (*WRITTEN, *READ):
        adapter(kind)
    for record in READ:
        for hint in get_type_hints(record).values():
            adapter(hint)


_ready()
gc.freeze()
gc.enable()
