"""The paths of the files a repository's contract is written in, and one of them as text. What they say, `reading.py` reads."""

from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES
from overlord.errors import ContractError

PATHS = tuple(f"{CONTRACT_DIR}/{name}" for name in CONTRACT_FILES)
MOST_BYTES = 1_000_000


def text_of(content: bytes, path: str) -> str:
    """A file of a contract as text. Raises ContractError for one that is none, or too long."""
    if len(content) > MOST_BYTES:
        raise ContractError(f"{path} is larger than {MOST_BYTES:,} bytes; a contract is a page or two")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ContractError(f"{path} is not UTF-8: save it as text in that encoding") from None
