"""Reads one PDF or Word document in a process of its own: bytes on standard input, text on standard output.

It limits itself before it looks at the first byte: a file made to exhaust memory or time ends this process, and no other.
Standard output is a sentence on what was left out, a NUL, and the text; with the code `REFUSED` it is why it cannot be read.
"""

import io
import resource
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docx.blkcntnr import BlockItemContainer
    from docx.document import Document
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph

REFUSED = 3
LEFT_OUT = "\0"
MEMORY_BYTES = 1_000_000_000
CPU_S = 30
UNPACKED_BYTES = 200_000_000
"""Of all parts of a Word document."""
DEEPEST = 4
"""Tables in tables that are looked into."""


class Unreadable(Exception):
    """Why a document cannot be read, as the end of a sentence that begins with its name."""


def main() -> None:
    """Read the document on standard input; the arguments are its kind, how many bytes of text are wanted, and the seconds of the
    processor that it may take."""
    kind, wanted, cpu_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _limit(cpu_s)
    try:
        text, note = _READERS[kind](sys.stdin.buffer.read(), wanted)
    except Unreadable as error:
        print(error)
        sys.exit(REFUSED)
    except (MemoryError, RecursionError):
        print("needs more memory to be read than a document may have; save what counts as text")
        sys.exit(REFUSED)
    sys.stdout.buffer.write(f"{note}{LEFT_OUT}{text}".encode(errors="replace"))


def _limit(cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _pdf(content: bytes, wanted: int) -> tuple[str, str]:
    import logging

    from pypdf import PasswordType, PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    damage = (PyPdfError, zlib.error, ValueError, TypeError, LookupError, AttributeError, RuntimeError)
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            raise Unreadable("is encrypted; save it without a password")
        pages = len(reader.pages)
    except damage as error:
        raise Unreadable(
            f"is no PDF that can be read ({type(error).__name__}); save it again, or as text"
        ) from None
    texts, damaged, size, last = list[str](), list[int](), 0, 0
    for last in range(1, pages + 1):
        try:
            text = reader.pages[last - 1].extract_text().strip()
        except damage:
            damaged.append(last)
            continue
        texts.append(text)
        size += len(text.encode(errors="replace"))
        if size > wanted:
            break
    if not any(texts):
        if damaged:
            raise Unreadable(
                "has no page that can be read: they are damaged, or too large; save what counts as text"
            )
        raise Unreadable(
            "has no text in it: it is made of pictures, as a scan is. Have the text recognized, and save it again"
        )
    return "\n\n".join(filter(None, texts)), _pdf_note(pages, last, damaged)


def _pdf_note(pages: int, last: int, damaged: list[int]) -> str:
    notes = []
    if last < pages:
        notes.append(
            f"Only the text of its first {last} of {pages} pages was read, and of that the beginning is here."
        )
    if damaged:
        named = ", ".join(map(str, damaged[:10]))
        notes.append(
            f"Pages that are damaged were left out: {named}{' and more' if len(damaged) > 10 else ''}."
        )
    return " ".join(notes)


def _docx(content: bytes, wanted: int) -> tuple[str, str]:
    from docx.opc.exceptions import OpcError

    damage = (OpcError, SyntaxError, zipfile.BadZipFile, zlib.error, ValueError, TypeError, KeyError)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            if sum(part.file_size for part in parts.infolist()) > UNPACKED_BYTES:
                raise Unreadable(
                    f"unpacks to more than {UNPACKED_BYTES // 1_000_000} MB, which no document may"
                )
        document = _opened(content)
        texts, size, is_cut = list[str](), 0, False
        for text in _blocks(document, 0):
            is_cut = size > wanted
            if is_cut:
                break
            texts.append(text)
            size += len(text.encode(errors="replace"))
    except (*damage, AttributeError, RuntimeError, OSError) as error:
        raise Unreadable(
            f"is no Word document that can be read ({type(error).__name__}); save it as .docx without a password, or as text"
        ) from None
    if not any(text.strip() for text in texts):
        raise Unreadable("has no text in it; pictures are not read")
    return "\n\n".join(texts), "Only the beginning of its text is here." if is_cut else ""


def _opened(content: bytes) -> "Document":
    from docx import Document

    return Document(io.BytesIO(content))


def _blocks(container: "Document | BlockItemContainer | _Cell", depth: int) -> Iterator[str]:
    """Paragraphs and tables as they follow each other."""
    from docx.text.paragraph import Paragraph

    for item in container.iter_inner_content():
        if isinstance(item, Paragraph):
            if text := _paragraph(item):
                yield text
        elif depth < DEEPEST:
            yield from _rows(item, depth)


def _paragraph(paragraph: "Paragraph") -> str:
    text = paragraph.text.strip()
    style = (paragraph.style.name or "") if text and paragraph.style is not None else ""
    word, _, level = style.partition(" ")
    if word == "Heading" and level.isdecimal():
        return f"{'#' * min(int(level), 6)} {text}"
    return f"- {text}" if style.startswith("List") and text else text


def _rows(table: "Table", depth: int) -> Iterator[str]:
    """A line for each row; a cell that goes over several columns is there once."""
    for row in table.rows:
        cells = list(dict.fromkeys(row.cells))
        texts = (" ".join(" ".join(_blocks(cell, depth + 1)).split()) for cell in cells)
        if joined := " | ".join(texts).strip(" |"):
            yield f"| {joined} |"


_READERS: Mapping[str, Callable[[bytes, int], tuple[str, str]]] = {"pdf": _pdf, "docx": _docx}

if __name__ == "__main__":
    main()
