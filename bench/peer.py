"""mini-swe-agent, the peer the Minion is measured beside: installed from PyPI into an environment of its own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.minion.session_api import call

VERSIONS = ("mini-swe-agent==2.4.6", "litellm==1.106.2", "mcp==2.3.0")
"""What was measured; this litellm imports mcp and does not say so."""
INSTALL_TIMEOUT_S = 900


def home() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "overlord-bench" / "mini-swe-agent"


def install() -> tuple[str, ...] | str:
    """The command that starts it, or a sentence that says why there is none."""
    program, mark = home() / "bin" / "mini", home() / f"installed-{'-'.join(VERSIONS)}"
    if mark.exists():
        return (str(program),)
    print(f"Installing {' '.join(VERSIONS)} into {home()} (once, about a minute) …", flush=True)
    steps = (
        [sys.executable, "-m", "venv", str(home())],
        [str(home() / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *VERSIONS],
    )
    for step in steps:
        try:
            subprocess.run(step, check=True, timeout=INSTALL_TIMEOUT_S, capture_output=True)
        except (OSError, subprocess.SubprocessError) as error:
            return (
                f"mini-swe-agent could not be installed ({type(error).__name__}), so the Minion stands alone."
            )
    mark.touch()
    return (str(program),)


def environment(base_url: str, scratch: Path) -> dict[str, str]:
    """Its cheapest settings: nothing printed at start, no price lookup, no question at the first run."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_BASE": base_url,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_GLOBAL_CONFIG_DIR": str(scratch / "config"),
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
    }


def words(program: Sequence[str], scratch: Path) -> list[str]:
    options = ["--yolo", "--exit-immediately", "--agent-class", "default", "--model", "openai/scripted"]
    return [*program, *options, "--task", "Count the marks.", "--output", str(scratch / "trajectory.json")]


def script(turns: int, files: Sequence[str]) -> list[bytes]:
    """Reads, edits and commands, as the Minion's script does with tools."""
    replies = []
    for turn in range(turns - 1):
        edit = f"sed -i 's/mark {turn // 3}$/mark {turn // 3 + 1}/' MARKS"
        commands = (f"cat {files[turn % len(files)]}", edit, "grep -c mark MARKS")
        replies.append(call("bash", command=commands[turn % 3]))
    return [*replies, call("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]
