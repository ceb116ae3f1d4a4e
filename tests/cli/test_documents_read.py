"""Documents that are handed over with `--file`: read where they can be, and else refused by name; a hostile one hurts nobody."""

import io
import os
import zipfile
import zlib
from pathlib import Path

import docx
import pytest
from pypdf import PdfWriter

from overlord.entrypoints.local.documents import MOST_FILE_BYTES, MOST_FILES, MOST_TEXT_BYTES, read_documents
from overlord.errors import NotFound, OverlordError, Refused


def pdf(*pages: str, stream: bytes = b"") -> bytes:
    """A PDF with a line of text on each page, written by hand; `stream` is the first page's content instead."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        content = zlib.compress(stream or f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
            + f" /Contents {5 + 2 * number} 0 R >>".encode()
        )
        head = f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + content + b"\nendstream")
    written, places = b"%PDF-1.4\n", list[int]()
    for number, item in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + item + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    xref = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    tail = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return written + (xref + tail).encode()


def encrypted(password: str) -> bytes:
    writer, kept = PdfWriter(io.BytesIO(pdf("Nobody reads this"))), io.BytesIO()
    writer.encrypt(password, "owner", algorithm="AES-256")
    writer.write(kept)
    return kept.getvalue()


def word() -> bytes:
    document, kept = docx.Document(), io.BytesIO()
    document.add_heading("Requirements", 2)
    document.add_paragraph("The sum is right.")
    document.add_paragraph("Fast", style="List Bullet")
    table = document.add_table(rows=1, cols=3)
    table.cell(0, 0).text = "add"
    table.cell(0, 1).merge(table.cell(0, 2)).text = "adds\ntwo numbers"
    document.add_paragraph("The end.")
    document.save(kept)
    return kept.getvalue()


def bomb() -> bytes:
    """A Word document of a few hundred kilobytes that unpacks to 300 MB."""
    kept = io.BytesIO(word())
    with zipfile.ZipFile(kept, "a", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("word/more.xml", b"\0" * 300_000_000)
    return kept.getvalue()


def put(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_text_is_read_in_the_encodings_it_may_have(tmp_path: Path) -> None:
    found = read_documents(
        (
            put(tmp_path, "a.md", b"# One\r\nplain\x1b[2J\xe2\x80\xae"),
            put(tmp_path, "b.txt", b"\xef\xbb\xbfzwei \xc3\xa9"),
            put(tmp_path, "c.rst", "drei é".encode("utf-16")),
        )
    )
    assert [item.text for item in found] == ["# One\nplain[2J", "zwei é", "drei é"]
    assert [item.note for item in found] == ["", "", ""]
    assert [item.name.rpartition("/")[2] for item in found] == ["a.md", "b.txt", "c.rst"]


def test_a_word_document_is_read_in_the_order_it_is_written_in(tmp_path: Path) -> None:
    [found] = read_documents((put(tmp_path, "spec.docx", word()),))
    assert found.text.split("\n\n") == [
        "## Requirements",
        "The sum is right.",
        "- Fast",
        "| add | adds two numbers |",
        "The end.",
    ]


def test_a_pdf_is_read_by_what_it_is_and_an_empty_password_is_none(tmp_path: Path) -> None:
    one, two = read_documents(
        (put(tmp_path, "spec", pdf("First page", "Second")), put(tmp_path, "b.pdf", encrypted("")))
    )
    assert (one.text, two.text) == ("First page\n\nSecond", "Nobody reads this")


def test_what_is_too_much_is_left_out_and_said(tmp_path: Path) -> None:
    long = "é" * MOST_TEXT_BYTES
    [found] = read_documents((put(tmp_path, "a.txt", long.encode()),))
    assert (found.text, found.note) == (
        "é" * (MOST_TEXT_BYTES // 2),
        "Only the first 190 kB of its text are here.",
    )
    [found] = read_documents((put(tmp_path, "a.pdf", pdf(*["many words " * 20_000] * 4)),))
    assert len(found.text.encode()) <= MOST_TEXT_BYTES
    assert found.note.startswith("Only the text of its first 2 of 4 pages was read")
    many = [put(tmp_path, f"{number}.txt", b"x") for number in range(MOST_FILES + 2)]
    found_many = read_documents(many)
    assert len(found_many) == MOST_FILES
    assert found_many[-1].note.startswith("2 files more were left out (")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("scan.pdf", pdf("", ""), "has no text in it: it is made of pictures"),
        ("locked.pdf", encrypted("secret"), "is encrypted; save it without a password"),
        ("broken.pdf", b"%PDF-1.4\nnothing more", "is no PDF that can be read"),
        ("hungry.pdf", pdf("x", stream=b"\0" * 900_000_000), "has no page that can be read"),
        ("bomb.docx", bomb(), "unpacks to more than 200 MB"),
        ("text.docx", b"not at all", "is no Word document that can be read"),
        ("empty.md", b" \n\xe2\x80\x8b", "has no text in it"),
        ("latin.txt", b"caf\xe9", "is no text in UTF-8 or UTF-16; save it as UTF-8"),
        ("program.txt", b"\x7fELF\0\0", "is no text"),
        ("sheet.xlsx", b"PK", "a file that ends with '.xlsx' is not read"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    with pytest.raises(Refused) as refused:
        read_documents((put(tmp_path, name, content),))
    assert name in str(refused.value)
    assert why in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_what_is_no_file_is_refused_by_name_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(MOST_FILE_BYTES + 1)
    told = {
        tmp_path: "is a directory",
        tmp_path / "pipe.md": "is no regular file",
        tmp_path / "large.txt": "has 25 MB; 25 MB is the most",
        tmp_path / "missing.md": "there is no file",
        tmp_path / "a\0b.md": "cannot be read",
    }
    for path, why in told.items():
        with pytest.raises(OverlordError) as refused:
            read_documents((path,))
        assert why in str(refused.value), path
        assert isinstance(refused.value, NotFound if "missing" in str(path) else Refused)


def test_a_document_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    slow = put(tmp_path, "slow.pdf", pdf("", stream=b"BT /F1 12 Tf " + b"(x) Tj " * 2_000_000 + b"ET"))
    with pytest.raises(
        Refused, match=r"slow\.pdf cannot be read: it is damaged, or needs more memory or time"
    ):
        read_documents((slow,), cpu_s=1)
