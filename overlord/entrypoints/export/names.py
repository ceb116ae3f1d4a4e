"""Names of exported files. Some come from plans, contracts and models: none leaves its directory, hides, or is taken for an option."""

import re

MOST_BYTES = 100
"""Of a name."""
MOST_PARTS = 12
"""Of a path; what is deeper is one name."""
_OUT = re.compile(r"[^\w.\-+=@]", re.ASCII)


def safe_name(text: str) -> str:
    """One name for a file, of plain characters."""
    name = _OUT.sub("_", text)[:MOST_BYTES]
    if not name.strip("._"):
        return "_"
    return f"_{name[1:]}" if name[0] in ".-" else name


def safe_path(text: str) -> str:
    """A path below the directory it is joined to."""
    parts = [part for part in text.split("/") if part] or [""]
    parts = (
        [*parts[: MOST_PARTS - 1], "_".join(parts[MOST_PARTS - 1 :])] if len(parts) > MOST_PARTS else parts
    )
    return "/".join(map(safe_name, parts))


class Names:
    """The paths that are taken. File systems that know no case are thought of, and a name is a file or a directory."""

    def __init__(self) -> None:
        self._files = set[str]()
        self._directories = set[str]()

    def take(self, path: str) -> str:
        """This path, or the first like it with a number in a name that is free."""
        *directories, name = path.split("/")
        at = ""
        for directory in directories:
            at = f"{self._free(at, directory, self._files)}/"
            self._directories.add(at.removesuffix("/").casefold())
        found = self._free(at, name, self._files | self._directories)
        self._files.add(found.casefold())
        return found

    def _free(self, at: str, name: str, taken: set[str]) -> str:
        found, number = f"{at}{name}", 1
        stem, dot, ending = name.rpartition(".")
        while found.casefold() in taken:
            number += 1
            found = f"{at}{stem}-{number}.{ending}" if dot and stem else f"{at}{name}-{number}"
        return found
