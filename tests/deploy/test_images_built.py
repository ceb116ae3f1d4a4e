"""`make images` as people see it: a short line for each step, no word of the builder's own, and all of them when it fails."""

import os
import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.architecture.test_imports import ROOT

DOCKER = """\
#!/bin/sh
case "$1" in
    image) echo 250000000 ;;
    build) cat "$BUILDER_SAYS"; exit "$BUILDER_ENDS" ;;
esac
"""
NOTICE = """\
DEPRECATED: The legacy builder is deprecated and will be removed in a future release.
            Install the buildx component to build images with BuildKit:
            https://docs.docker.com/go/buildx/

"""
LEGACY = f"""{NOTICE}Sending build context to Docker daemon  6.9MB
Step 1/4 : ARG BASE_IMAGE=python:3.12-slim
Step 2/4 : FROM ${{BASE_IMAGE}} AS build
 ---> a2e9e96d3f55
Step 3/4 : RUN python3 -m venv /opt/build     && python3 -m venv /opt/minion
 ---> Running in 4ea5960a67ea
Collecting everything
Step 4/4 : COPY minion/ /tmp/site/minion/
Successfully built 25799bec589c
"""
BUILDKIT = """\
#1 [internal] load build definition from minion.Dockerfile
#5 [build 1/3] FROM docker.io/library/python:3.12-slim
#6 [build 2/3] RUN python3 -m venv /opt/build     && python3 -m venv /opt/minion
#6 0.412 Collecting everything
#7 [minion 2/2] COPY --from=build /opt/minion /opt/minion
#6 [build 2/3] RUN python3 -m venv /opt/build     && python3 -m venv /opt/minion
#6 DONE 9.1s
"""


def images(tmp_path: Path, said: str, ends: int = 0) -> subprocess.CompletedProcess[str]:
    """Type `docker/images overlord` where a program of this test's is called docker."""
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "said").write_text(said)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "BUILDER_SAYS": str(tmp_path / "said"),
        "BUILDER_ENDS": str(ends),
    }
    return subprocess.run(
        [str(ROOT / "docker" / "images"), "overlord"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            LEGACY,
            snapshot("""\
overlord …
  step 3 of 4: RUN python3 -m venv /opt/build && python3 -m venv /opt/minion
  step 4 of 4: COPY minion/ /tmp/site/minion/
"""),
        ),
        (
            BUILDKIT,
            snapshot("""\
overlord …
  step build 2 of 3: RUN python3 -m venv /opt/build && python3 -m venv /opt/minion
  step minion 2 of 2: COPY --from=build /opt/minion /opt/minion
"""),
        ),
    ],
    ids=["the old builder", "BuildKit"],
)
def test_each_step_is_a_line_and_nothing_else_is_said(tmp_path: Path, said: str, shown: str) -> None:
    done = images(tmp_path, said)
    assert (done.returncode, done.stderr) == (0, shown)
    assert done.stdout == "overlord                250 MB\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docker", "said"]


def test_a_step_that_fails_shows_all_that_was_said(tmp_path: Path) -> None:
    done = images(tmp_path, f"{LEGACY}E: no space left on device\n", ends=1)
    assert done.returncode == 1 and done.stdout == ""
    assert "Collecting everything\n" in done.stderr and "E: no space left on device\n" in done.stderr
    assert done.stderr.endswith("overlord could not be built: the last lines say why.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docker", "said"]
