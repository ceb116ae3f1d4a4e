"""The end of a setup: what it made becomes usable from any tree, holds no secret, and is written down.

The record is written last and at once; an environment without it was never finished.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from minion import shell
from minion.encoding import encode
from minion.errors import SetupFailed
from minion.protocol import SetupPlan
from minion.setup import leak
from minion.setup.editable import Links, follow
from minion.setup.environment import OVERLAY, RECORD, VENV, Interpreter, Record, toolchain
from minion.setup.overlay import keep

_PROBE = (
    "import sys\nprint('minion-python', *sys.version_info[:2])\n"
    "import pytest\nprint('minion-pytest', pytest.__version__, pytest.__file__)"
)
_PROBE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupResult:
    """What setup commands left: the environment's directory and the tree they ran in, with the names of base in it."""

    directory: Path
    tree: Path
    tracked: frozenset[str]
    plan: SetupPlan
    secrets: Mapping[str, str]
    variables: Mapping[str, str]
    """What Python is given to look at it; no secrets."""
    waiting: Callable[[], AbstractContextManager[None]]


def finish(made: SetupResult, *, until: float) -> str:
    """Finish it, and say what was found. Raises SetupFailed with a sentence, OSError, or TimeoutError."""
    lines: list[str] = []
    venv = made.directory / VENV
    links = follow(venv, made.tree) if venv.is_dir() else Links()
    # While the tree still has what the build made in it: pytest may be importing it.
    python = _interpreter(made, lines, until) if (venv / "bin" / "python").exists() else None
    overlay = keep(made.tree, made.tracked, made.directory / OVERLAY)
    found = leak.find(made.directory, made.secrets, until=until)
    if found is not None:
        raise SetupFailed(f"{found[0]} in the environment holds the value of the secret {found[1]}.")
    if links.roots or links.places:
        lines.append(f"Editable: {', '.join(sorted({*links.roots, *links.places}))} of the session's tree.")
    lines += [
        f"{name} is installed as a copy: changes reach it only by the import path." for name in links.copied
    ]
    lines += [f"Kept for every tree: {kept.path} ({kept.kind})." for kept in overlay[:50]]
    record = Record(
        variables=made.plan.variables,
        path=made.plan.path,
        roots=tuple(sorted(links.roots)),
        overlay=overlay,
        python=python,
    )
    _write(made.directory / RECORD, encode(record))
    return "\n".join(lines)


def _interpreter(made: SetupResult, lines: list[str], until: float) -> Interpreter:
    probed = _run(made, ("-c", _PROBE), min(time.monotonic() + _PROBE_S, until))
    versions = dict(
        line.split(maxsplit=1) for line in probed.output.splitlines() if line.startswith("minion-")
    )
    if "minion-python" not in versions:
        raise SetupFailed(f"The environment's Python does not start: {probed.output[-2000:]}")
    runs_pytest = "minion-pytest" in versions
    lines.append(f"Python {versions['minion-python'].replace(' ', '.')}")
    if runs_pytest:
        lines[-1] += f", pytest {versions['minion-pytest'].split()[0]}."
    else:
        lines[-1] += f". pytest cannot be imported there: {probed.output[-2000:]}"
    for site in (made.directory / VENV).glob("lib/*/site-packages"):
        # What cannot be compiled (templates, other Pythons' code) is no failure of the setup.
        _run(made, ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(site)), until)
    version = tuple(int(part) for part in versions["minion-python"].split())
    return Interpreter(version=version, runs_pytest=runs_pytest)


def _run(made: SetupResult, words: tuple[str, ...], until: float) -> shell.Finished:
    return shell.run(
        (str(made.directory / VENV / "bin" / "python"), *words),
        directory=made.directory,
        environment={**made.variables, **toolchain(), "MINION_TREE": str(made.tree)},
        timeout_s=max(until - time.monotonic(), 0.1),
        keep_bytes=20_000,
        waiting=made.waiting,
    )


def _write(file: Path, content: bytes) -> None:
    temporary = file.with_name(f".{file.name}")
    with temporary.open("wb") as target:
        target.write(content)
        target.flush()
        os.fsync(target.fileno())
    temporary.rename(file)
