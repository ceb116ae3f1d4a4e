"""Git LFS's pointers: those it writes are known, anything else stands for itself."""

import pytest

from overlord.domain.repositories.lfs import (
    LARGEST_POINTER,
    SMALLEST_POINTER,
    Pointer,
    parse_pointer,
    pointer_to,
)

OID = "4d" * 32


def test_a_pointer_is_read_and_written_alike() -> None:
    for size in (1, 12345, 10**15):
        pointer = Pointer(oid=OID, size=size)
        assert parse_pointer(pointer_to(pointer)) == pointer
        assert SMALLEST_POINTER <= len(pointer_to(pointer)) <= LARGEST_POINTER


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"version https://git-lfs.github.com/spec/v1\n",
        pointer_to(Pointer(oid=OID, size=0)),
        pointer_to(Pointer(oid=OID, size=1)) + b"\n",
        pointer_to(Pointer(oid=OID, size=1)).replace(b"\n", b"\r\n"),
        pointer_to(Pointer(oid=OID.upper(), size=1)),
        pointer_to(Pointer(oid="../" + OID[3:], size=1)),
        pointer_to(Pointer(oid=OID, size=1)).replace(b"oid", b"ext-0-x sha256:ff\noid"),
        pointer_to(Pointer(oid=OID, size=10**30)),
    ],
)
def test_what_is_none_stands_for_itself(content: bytes) -> None:
    assert parse_pointer(content) is None
