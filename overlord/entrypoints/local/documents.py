"""Documents that a person hands over with `--file`: their text, which is data and nothing else.

Plain text is decoded here. PDF and Word are formats that programs are written to break, so that a process of its own reads them
(`document_text.py`), with little memory and time, and a file that needs more is refused by name. Nothing of a document is ever run.
"""

import contextlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from overlord.domain.text.plain import count, plain_line, size_text, visible
from overlord.entrypoints.local.build.document_text import CPU_S, LEFT_OUT, REFUSED
from overlord.errors import NotFound, Refused

MOST_FILES = 12
MOST_FILE_BYTES = 25_000_000
MOST_TEXT_BYTES = 190_000
"""Of one document's text: an artifact of a plan, which it may become, has 200,000."""
TIMEOUT_S = 60.0
READ_MORE = 4
"""As many times the text that is kept is looked at, since what nobody sees is taken out of it first."""
_PLAIN = {"": "text", ".md": "text", ".markdown": "text", ".txt": "text", ".rst": "text"}
_PARSED = {".pdf": "pdf", ".docx": "docx"}
_KINDS = "md, txt, rst, pdf or docx"
_BREAKS = re.compile(r"\r\n?|\f|\v")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What was read of one file. Untrusted: somebody else may have written it."""

    name: str
    text: str
    note: str = ""
    """A sentence on what was left out; "" where all of it is here."""


def read_documents(paths: Sequence[Path], *, cpu_s: int = CPU_S) -> tuple[Document, ...]:
    """The text of each file, in this order; what is too much is left out, and the last note says which files were. `cpu_s` is the
    time of the processor that one PDF or Word document may take.

    Raises NotFound for a file that is not there, and Refused for one that cannot be read, each with its name.
    """
    found = [_read(path, cpu_s) for path in paths[:MOST_FILES]]
    if left := paths[MOST_FILES:]:
        names = ", ".join(_name(path) for path in left[:MOST_FILES])
        sentence = f"{count(len(left), 'file')} more {'was' if len(left) == 1 else 'were'} left out ({names}); {MOST_FILES} are read at most."
        found[-1] = replace(found[-1], note=f"{found[-1].note} {sentence}".strip())
    return tuple(found)


def _read(path: Path, cpu_s: int) -> Document:
    content = _content(path)
    suffix = path.suffix.lower()
    if content.startswith(b"%PDF-") or suffix in _PARSED:
        kind = "pdf" if content.startswith(b"%PDF-") else _PARSED[suffix]
        text, note = _parsed(path, kind, content, cpu_s)
    elif suffix in _PLAIN:
        text, note = _decoded(path, content), ""
    else:
        raise Refused(f"{_name(path)}: a file that ends with {suffix!r} is not read; give {_KINDS}")
    return _document(path, text, note)


def _content(path: Path) -> bytes:
    """A regular file's bytes; a pipe is never waited for."""
    try:
        descriptor = os.open(path.expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"there is no file {_name(path)}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name has a NUL"
        raise Refused(f"{_name(path)} cannot be read: {why}") from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise Refused(f"{_name(path)} is a directory; name the files in it, each with --file")
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{_name(path)} is no regular file; save what it holds as one, and name that")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MOST_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_FILE_BYTES:
        raise Refused(
            f"{_name(path)} has {size_text(status.st_size)}; {size_text(MOST_FILE_BYTES)} is the most"
        )
    return content


def _decoded(path: Path, content: bytes) -> str:
    """Text as UTF-8, or as UTF-16 where it says so itself."""
    is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    most = MOST_TEXT_BYTES * READ_MORE
    with contextlib.suppress(UnicodeDecodeError):
        text = content.decode("utf-16" if is_wide else "utf-8-sig")
        if "\0" not in text:
            return text[:most]
    raise Refused(f"{_name(path)} is no text in UTF-8 or UTF-16; save it as UTF-8")


def _parsed(path: Path, kind: str, content: bytes, cpu_s: int) -> tuple[str, str]:
    """The text of a PDF or Word document as a process of its own reads it, and what that left out."""
    places = [place for place in sys.path if place]
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    command = (sys.executable, "-P", "-s", "-m", "overlord.entrypoints.local.build.document_text", kind)
    try:
        done = subprocess.run(
            (*command, str(MOST_TEXT_BYTES * 2), str(cpu_s)),
            input=content,
            capture_output=True,
            env={**environment, "PYTHONPATH": os.pathsep.join(places)},
            timeout=TIMEOUT_S,
            check=False,
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        raise Refused(
            f"{_name(path)} was not read within {TIMEOUT_S:.0f} s; save what counts as text"
        ) from None
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode == REFUSED:
        raise Refused(f"{_name(path)} {said.strip()}")
    if done.returncode != 0:
        raise Refused(
            f"{_name(path)} cannot be read: it is damaged, or needs more memory or time than a document may have;"
            " save what counts as text"
        )
    note, _, text = said.partition(LEFT_OUT)
    return text, note


def _document(path: Path, text: str, note: str) -> Document:
    clean = visible(_BREAKS.sub("\n", text[: MOST_TEXT_BYTES * READ_MORE])).strip()
    if not clean:
        raise Refused(f"{_name(path)} has no text in it")
    kept = clean.encode()[:MOST_TEXT_BYTES].decode(errors="ignore")
    if len(kept) < len(clean) and not note:
        note = f"Only the first {size_text(MOST_TEXT_BYTES)} of its text are here."
    return Document(name=_name(path), text=kept, note=note)


def _name(path: Path) -> str:
    """A file's name as it can be shown."""
    with contextlib.suppress(ValueError):
        return plain_line(str(path).encode(errors="surrogateescape").decode(errors="replace"), limit=200)
    return "the file"
