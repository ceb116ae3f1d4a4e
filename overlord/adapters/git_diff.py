"""Reading `git diff --raw --numstat -z -M`: the only place names of changed files come from."""

from collections.abc import Iterator

from overlord.domain.scope import Change


def parse_changes(output: bytes) -> list[Change]:
    """Every changed path, with modes from the raw part and line counts from the numstat part."""
    fields = iter([part.decode(errors="backslashreplace") for part in output.split(b"\0")[:-1]])
    changes: dict[str, Change] = {}
    for item in fields:
        if item.startswith(":"):
            change = _raw(item, fields)
            changes[change.path] = change
        else:
            path, counted = _counted(item, fields, changes)
            changes[path] = counted
    return list(changes.values())


def _raw(item: str, fields: Iterator[str]) -> Change:
    old_mode, new_mode, _old, _new, status = item[1:].split(" ")
    path, old_path = next(fields), None
    if status[0] in "RC":
        old_path, path = path, next(fields)
    return Change(
        path=path,
        old_path=old_path if status[0] == "R" else None,
        status=status[0],
        old_mode=old_mode,
        new_mode=new_mode,
    )


def _counted(item: str, fields: Iterator[str], changes: dict[str, Change]) -> tuple[str, Change]:
    added, removed, path = item.split("\t", 2)
    if not path:
        next(fields)  # the old name of a rename
        path = next(fields)
    known = changes[path]
    binary = added == "-"
    return path, Change(
        path=known.path,
        old_path=known.old_path,
        status=known.status,
        old_mode=known.old_mode,
        new_mode=known.new_mode,
        added=0 if binary else int(added),
        removed=0 if binary else int(removed),
        binary=binary,
    )
