"""How git is told a credential: in a file that exists only in memory, which git and the programs it starts inherit open.

An argument list is shown to everybody on the machine, an environment to every process of the same user: sessions of the
process runner are such processes. A file of a name would have to be deleted, and is left behind by a crash.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

_CREDENTIAL = ".extraHeader"
"""How the name of a setting ends that carries a credential."""


@contextmanager
def handed_over(settings: Mapping[str, str]) -> Iterator[tuple[dict[str, str], Sequence[int]]]:
    """Settings with credentials replaced by an include of what holds them, and the descriptors git must inherit."""
    credentials = {key: value for key, value in settings.items() if key.endswith(_CREDENTIAL)}
    plain = {key: value for key, value in settings.items() if key not in credentials}
    if not credentials:
        yield plain, ()
        return
    descriptor = os.memfd_create("git-credentials")
    try:
        os.write(descriptor, _as_file(credentials).encode())
        yield {**plain, "include.path": f"/proc/self/fd/{descriptor}"}, (descriptor,)
    finally:
        os.close(descriptor)


def _as_file(settings: Mapping[str, str]) -> str:
    """The settings as a configuration file writes them: `http.<address>.extraHeader` has a section and its part."""
    lines = []
    for key, value in settings.items():
        section, _, rest = key.partition(".")
        part, _, name = rest.rpartition(".")
        lines += [f"[{section} {_quoted(part)}]", f"\t{name} = {_quoted(value)}"]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
