"""A claim: a call with its result, the evidence it rests on, and the ledger from the call to its end.

Events between that are about other work have only their hashes in it: they may be of repositories that whoever reads the claim may not
see. Everything in a file that was read is somebody else's word until it was checked.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from overlord.domain.disciplines.call import CallResult
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.text.json_text import json_text
from overlord.errors import NotFound, Refused
from overlord.store.ledger import Entry

FORMAT: Final = "overlord-claim-1"
MOST_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedCall:
    """Who asked for what, on which files."""

    ref: str
    discipline: DisciplineName
    space: str
    session: str
    actor: str
    arguments: Mapping[str, Any]
    directory: str
    base_commit: str
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedFile:
    """A file of the evidence, whole."""

    kind: str
    sha256: str
    encoding: Literal["utf-8", "base64"]
    content: str

    @property
    def data(self) -> bytes:
        """Raises ValueError for what is no base64."""
        if self.encoding == "base64":
            return base64.b64decode(self.content, validate=True)
        return self.content.encode(errors="surrogatepass")

    @classmethod
    def of(cls, kind: str, data: bytes) -> "ClaimedFile":
        """A file as it is written down."""
        digest = sha256(data).hexdigest()
        try:
            return cls(kind=kind, sha256=digest, encoding="utf-8", content=data.decode())
        except UnicodeDecodeError:
            content = base64.b64encode(data).decode()
            return cls(kind=kind, sha256=digest, encoding="base64", content=content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedEvent:
    """An event of the ledger. `event` is None for one about other work."""

    seq: int
    previous: str
    hash: str
    event: Entry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One file."""

    format: Literal["overlord-claim-1"]
    call: ClaimedCall
    result: CallResult
    evidence: tuple[ClaimedFile, ...]
    ledger: tuple[ClaimedEvent, ...]
    """From the call's request to its end, none left out."""
    ledger_head: str
    """The hash of the event that says how the call ended."""
    other_evidence: Mapping[str, str] = field(default_factory=dict)
    """Further evidence of the call by its SHA-256, with its kind: it is kept where the call was worked on."""

    def file(self, kind: str) -> ClaimedFile | None:
        """The evidence of a kind; None where there is none."""
        return next((item for item in self.evidence if item.kind == kind), None)

    @property
    def patch(self) -> bytes:
        """The change; empty where nothing was changed."""
        found = self.file("patch")
        return found.data if found is not None else b""

    @property
    def verification(self) -> Mapping[str, Any]:
        """What was run and found, as the evidence has it; empty for what is no object."""
        found = self.file("verification")
        try:
            value = json.loads(found.data) if found is not None else {}
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, Mapping) else {}

    def text(self) -> str:
        """The claim as it is written to a file."""
        return f"{json_text(self, indent=1)}\n"


_ADAPTER: TypeAdapter[Claim] = TypeAdapter(Claim)


def read(path: Path) -> Claim:
    """A claim from a file. Raises NotFound, and Refused for what is no claim."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise Refused(f"{path} is no claim: it is larger than {MOST_BYTES:,} bytes")
    try:
        made = _ADAPTER.validate_json(content)
        for item in made.evidence:
            item.data  # noqa: B018 - what is no base64 is no claim
    except (ValueError, RecursionError, OverflowError) as error:
        raise Refused(f"{path} is no claim that can be read{_where(error)}") from None
    return made


def _where(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, first["loc"][:6]))
    return f": {place}: {first['msg']}"[:300] if place else f": {first['msg']}"[:300]
