"""Editable installs made to follow the session's tree instead of the one tree setup had.

Every build back end writes them as it likes: a line in a `.pth`, a finder of setuptools, a hook of its own. What names
the setup's tree is read, never run, and one finder of ours (`tree_finder.py`) takes the place of it all; a hook nobody
here knows keeps its code, with the tree's path looked up when it runs.
"""

import ast
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

MODULE = "_minion_tree"
_PYTEST = '#!/bin/sh\nexec "$(dirname "$0")/python" -m pytest "$@"\n'
_LARGEST_HOOK = 1024 * 1024


@dataclass(slots=True)
class Links:
    """Where in the tree the packages are: directories on the import path, and single packages by name."""

    roots: set[str] = field(default_factory=set)
    places: dict[str, str] = field(default_factory=dict)
    copied: list[str] = field(default_factory=list)
    """Distributions of the tree that were installed as copies, which no session's change reaches."""


def follow(venv: Path, tree: Path) -> Links:
    """Rewrite what in a virtual environment leads into `tree`. Raises OSError."""
    links = Links()
    sites = [site for site in venv.glob("lib/*/site-packages") if not site.parent.is_symlink()]
    for site in sites:
        _Site(site, tree, links).rewrite()
    for site in sites:
        shutil.copyfile(Path(__file__).with_name("tree_finder.py"), site / f"{MODULE}.py")
        known = sorted(known_names(tree, links))
        text = f"roots={sorted(links.roots)!r}, places={links.places!r}, known={known!r}"
        (site / f"{MODULE}.pth").write_text(f"import {MODULE}; {MODULE}.install({text})\n")
    script = venv / "bin" / "pytest"
    if sites and not script.exists():
        script.write_text(_PYTEST)
        script.chmod(0o755)
    return links


def known_names(tree: Path, links: Links) -> Iterator[str]:
    """Top-level names that base can be asked for; in the tree's own root only what looks like a package."""
    yield from (name.partition(".")[0] for name in links.places)
    for root in links.roots:
        for entry in os.scandir(tree / root) if (tree / root).is_dir() else ():
            name = entry.name.partition(".")[0]
            whole = entry.name.endswith((".py", ".so")) or Path(entry.path, "__init__.py").is_file()
            nested = entry.is_dir() and (root != "." or any(Path(entry.path).glob("*/__init__.py")))
            if name.isidentifier() and name not in sys.stdlib_module_names and (whole or nested):
                yield name


class _Site:
    """One site-packages directory."""

    def __init__(self, site: Path, tree: Path, links: Links) -> None:
        self._site = site
        self._trees = {str(tree), os.path.realpath(tree)}
        self._links = links

    def rewrite(self) -> None:
        for finder in sorted(self._site.glob("__editable___*_finder.py")):
            self._take_finder(finder)
        for file in sorted(self._site.glob("*.pth")):
            self._take_lines(file)
        for link in sorted(self._site.glob("*.egg-link")):
            self._take_metadata(link)
        for origin in sorted(self._site.glob("*.dist-info/direct_url.json")):
            self._take_origin(origin)
        for hook in sorted(self._site.glob("*.py")):
            self._unbind(hook)

    def _inside(self, place: str) -> str | None:
        """A path relative to the tree, if that is where it leads."""
        clean = os.path.normpath(place) if place.startswith("/") else ""
        for tree in self._trees:
            if clean == tree or clean.startswith(f"{tree}/"):
                return os.path.relpath(clean, tree)
        return None

    def _take_finder(self, finder: Path) -> None:
        """setuptools: its tables say it all, unless one names something else than this tree."""
        literals = _literals(_read_source(finder))
        found = {
            **literals.get("MAPPING", {}),
            **{name: paths[0] for name, paths in literals.get("NAMESPACES", {}).items() if paths},
        }
        inside = {name: self._inside(str(place)) for name, place in found.items()}
        places = {name: place for name, place in inside.items() if place is not None}
        if not found or len(places) != len(found):
            return
        self._links.places |= places
        finder.unlink()
        for file in self._site.glob("*.pth"):
            if f"import {finder.stem};" in _read_source(file):
                file.unlink()

    def _take_lines(self, file: Path) -> None:
        lines = _read_source(file).splitlines()
        others = []
        for line in lines:
            root = self._inside(line.strip())
            if root is None:
                others.append(line)
            else:
                self._links.roots.add(root)
        if len(others) == len(lines):
            return
        if any(line.strip() for line in others):
            _write(file, "\n".join(others) + "\n")
        else:
            file.unlink()

    def _take_metadata(self, link: Path) -> None:
        """The oldest kind: what is known about the distribution lies in the tree itself."""
        place = _read_source(link).partition("\n")[0].strip()
        if self._inside(place) is None:
            return
        for metadata in Path(place).glob("*.egg-info"):
            shutil.copytree(metadata, self._site / metadata.name, dirs_exist_ok=True)
        link.unlink()

    def _take_origin(self, origin: Path) -> None:
        try:
            origin_data = json.loads(_read_source(origin))
            place = self._inside(unquote(urlsplit(origin_data["url"]).path))
            editable = origin_data.get("dir_info", {}).get("editable", False)
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        if place is not None:
            if not editable:
                self._links.copied.append(origin.parent.name.partition("-")[0])
            origin.unlink()

    def _unbind(self, hook: Path) -> None:
        """In a hook of another back end: the tree's path, where text begins with it, becomes the session's."""
        source = changed = _read_source(hook)
        for tree in self._trees:
            begins = re.compile(rf"(?<![\w\"'])([\"']){re.escape(tree)}(?=[/\"'])")
            changed = begins.sub(r'__import__("os").environ.get("MINION_TREE", "/nonexistent") + \1', changed)
        if changed != source and _compiles(changed):
            _write(hook, changed)


def _literals(source: str) -> Mapping[str, Any]:
    """The tables a setuptools finder begins with."""
    found: dict[str, Any] = {}
    try:
        for node in ast.parse(source).body:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if (
                set(names) & {"MAPPING", "NAMESPACES"}
                and isinstance(node, ast.Assign | ast.AnnAssign)
                and node.value
            ):
                value = ast.literal_eval(node.value)
                found |= {name: value for name in names if isinstance(value, dict)}
    except (SyntaxError, ValueError):
        return {}
    return found


def _compiles(source: str) -> bool:
    try:
        compile(source, "hook", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _read_source(file: Path) -> str:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST_HOOK:
        return ""
    return file.read_text("utf-8", "surrogateescape")


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8", "surrogateescape")
