"""How much a session may take, tried from inside its container. Standard library only; see `sandbox_check.py`."""

import errno
import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from overlord.adapters.docker.sandbox_calls import in_child

Expect = Mapping[str, Any]
MEGABYTE = 1024 * 1024
TMP = Path("/tmp")  # noqa: S108 - the container's own


def tmp_programs(_: Expect) -> str | None:
    program = TMP / "program"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o700)
    runs = in_child(lambda: os.execv(program, [str(program)])) == 0  # noqa: S606
    return "a program in /tmp runs" if runs else None


def disk(expect: Expect) -> str | None:
    for place, limit_mb in expect["disks"].items():
        size = os.statvfs(place)
        if size.f_blocks * size.f_frsize > limit_mb * MEGABYTE:
            return f"{place} holds {size.f_blocks * size.f_frsize // MEGABYTE} MB"
    try:
        with (TMP / "fill").open("wb") as file:
            for _ in range(expect["disks"][str(TMP)] + 1):
                file.write(bytes(MEGABYTE))
    except OSError as error:
        return None if error.errno == errno.ENOSPC else f"{TMP}: {error}"
    finally:
        (TMP / "fill").unlink(missing_ok=True)
    return f"{TMP} takes more than its size"


def limits(expect: Expect) -> str | None:
    for name, most in expect["limits"].items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
        if hard == resource.RLIM_INFINITY or hard > most:
            return f"{name} may be {'anything' if hard == resource.RLIM_INFINITY else hard}"
    return None


def processes(expect: Expect) -> str | None:
    most, children = expect["pids"], []
    hold, release = os.pipe()
    try:
        for _ in range(most + 20):
            pid = os.fork()
            if pid == 0:
                os.close(release)
                os.read(hold, 1)
                os._exit(0)
            children.append(pid)
    except BlockingIOError:
        return None if len(children) <= most else f"{len(children)} at once"
    finally:
        os.close(release)
        for pid in children:
            os.waitpid(pid, 0)
    return f"more than {most} at once"


def memory(expect: Expect) -> str | None:
    def grow() -> int:
        taken = [bytearray(os.urandom(4096) * 256) for _ in range(expect["memory_mb"] + 64)]
        return 0 if taken else 1

    return f"more than {expect['memory_mb']} MB can be taken" if in_child(grow) == 0 else None
