"""Makes a folder of packages run anywhere: beside them the Python that runs this, its C library, and a program that starts them.

Runs inside the build of an agent's image. The loader is called by its own name with the folder's libraries, so that neither the
session's Python nor its libraries matter, and programs that the agent starts get nothing of it in their environment.
Usage: bundle_python.py FOLDER PROGRAM MODULE:FUNCTION, with the packages in FOLDER/packages.
"""

import compileall
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_UNUSED = (
    "idlelib",
    "tkinter",
    "turtledemo",
    "test",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "dist-packages",
    "__pycache__",
)
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)
_STARTER = """\
#!/bin/sh
here={folder}
exec "$here/lib/{loader}" --library-path "$here/lib" --argv0 "$here/bin/python" "$here/bin/python" -I -c '
import sys
sys.argv[0] = "{program}"
sys.path.insert(0, "{folder}/packages")
from {module} import {function}
sys.exit({function}())
' "$@"
"""


def main(folder: Path, program: str, start: str) -> None:
    """Lay everything out below the folder, and compile what it holds."""
    python, stdlib = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
    binaries, libraries = folder / "bin", folder / "lib"
    for directory in (binaries, libraries):
        directory.mkdir(parents=True, exist_ok=True)
    shutil.copy2(python, binaries / "python")
    shutil.copytree(
        stdlib, libraries / stdlib.name, ignore=shutil.ignore_patterns(*_UNUSED, "config-*", "*.a")
    )
    dynamic = libraries / stdlib.name / "lib-dynload"
    dynamic.mkdir(exist_ok=True)
    loader = ""
    for library in sorted(set(_needed(python, folder))):
        loader = library.name if library.name.startswith("ld-") else loader
        shutil.copy2(library.resolve(), libraries / library.name)
    for tests in [*folder.glob("packages/**/tests"), folder / "packages" / "bin"]:
        shutil.rmtree(tests, ignore_errors=True)
    module, _, function = start.partition(":")
    text = _STARTER.format(folder=folder, loader=loader, program=program, module=module, function=function)
    (binaries / program).write_text(text, "utf-8")
    (binaries / program).chmod(0o755)
    # What sessions see is read-only, so that this is the only time it can be compiled.
    compileall.compile_dir(
        folder, quiet=2, workers=0, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    subprocess.run(["chmod", "-R", "a+rX,go-w,u-s,g-s", str(folder)], check=True)
    # Its first start, so that a Python or a package that does not fit is found here and not in a session.
    subprocess.run([binaries / program, "--version"], check=True, cwd=folder.parent)


def _needed(python: Path, folder: Path) -> Iterator[Path]:
    """The system's libraries that Python, its own modules and the packages are linked with."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    modules = [python, *stdlib.glob("lib-dynload/*.so"), *folder.glob("packages/**/*.so*")]
    for module in modules:
        shown = subprocess.run(["ldd", module], capture_output=True, text=True, check=False).stdout
        for found in _LIBRARY.findall(shown):
            if not Path(found).is_relative_to(folder):
                yield Path(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
