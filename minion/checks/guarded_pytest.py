"""pytest that a file in the tree cannot stand in for, and that tells the Minion each outcome when it is known.

Run as a script with `-S` and none of Python's variables but a seed, a directory for what it leaves and pytest's own words; standard input is a socket to the
Minion. What Python does at its start is made up for without the tree on the import path, so a `pytest.py`, `_pytest/` or
`sitecustomize.py` in it is never imported in their place; then the tree comes first, as tests expect. The code under
test shares this process, so nothing here is secret, and nothing is believed for having been sent: `guarded_run.py`
judges it, and writes the report, in the Minion. The repository's own Python, from 3.8 on.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this script's directory, which Python before 3.11 always puts there

import importlib.util
import json
import os
import site
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class Channel:
    """Lines of JSON to the Minion, and its answers. Programs that tests start do not inherit it; processes they fork may
    ask (pytest-forked runs each test in one), and tell no outcome.
    """

    def __init__(self) -> None:
        self._descriptor = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        # Tests replace functions of `os` for a while, in each module that names them.
        self._write, self._read, self._current = os.write, os.read, os.getpid
        self._process = os.getpid()

    def send(self, **line: object) -> None:
        if self._current() == self._process:
            self._send(line)

    def ask(self, **line: object) -> str:
        """Tell it, and wait for one line."""
        self._send(line)
        answer = b""
        while not answer.endswith(b"\n"):
            data = self._read(self._descriptor, 1024)
            if not data:
                break
            answer += data
        return answer.decode().strip()

    def _send(self, line: dict[str, object]) -> None:
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[self._write(self._descriptor, data) :]


def start_python() -> Any:
    """What `-S` left out, and the variables that were kept back; returns the finder of the environment's tree, if there is one."""
    del os.environ["PYTHONHASHSEED"]
    os.environ.update(json.loads(os.environ.pop("MINION_PYTHON_VARIABLES")))
    site.main()
    # Programs copy these flags to interpreters they start; for those the tree may come as it likes.
    flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if not name.startswith(("_", "n_"))}
    vars(sys)["flags"] = SimpleNamespace(**{**flags, "no_site": 0, "ignore_environment": 0})
    finder = next((one for one in sys.meta_path if hasattr(one, "known_only")), None)
    if finder is not None:
        finder.known_only = True
    return finder


def load_neighbour(name: str) -> ModuleType:
    """A module that lies beside this script, by its file: this directory is not on the import path."""
    spec = importlib.util.spec_from_file_location(f"minion_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(directory: Path, words: Sequence[str]) -> int:
    channel = Channel()
    chosen = directory / "only"
    only = json.loads(chosen.read_text()) if chosen.exists() else None
    finder = start_python()
    import pytest

    controls = load_neighbour("guarded_controls").Controls(channel, directory, Path.cwd())
    plugins = load_neighbour("guarded_plugins")
    tree = plugins.TreeOnPath(Path.cwd(), finder)
    lines = directory / "watched"
    touched = plugins.Touched(Path.cwd(), json.loads(lines.read_text()) if lines.exists() else ())
    reporter = plugins.Reporter(channel.send, only, controls, touched)
    code = int(pytest.main(list(words), plugins=[tree, touched, reporter]))
    channel.send(exit_code=code)
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
