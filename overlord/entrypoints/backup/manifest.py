"""What a backup says of itself, and the only names there may be in one: nothing else of an archive is ever written down."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from overlord.domain.portfolio.files import layout
from overlord.home import Home

FORMAT = 1
MANIFEST, DATABASE, INSTANCE, SETTINGS = "manifest.json", "overlord.db", "instance", "overlord.yaml"
PACK, HEADS, SHALLOW = "history.pack", "heads", "shallow"
"""Of each repository with work in hand: its history up to that work, what it ends in, and where it was cut."""
_SHA = r"[0-9a-f]{40}"
_EVIDENCE = re.compile(r"evidence/(?P<place>[0-9a-f]{2})/(?P<rest>[0-9a-f]{62})")
_TRANSCRIPT = re.compile(r"transcripts/(?P<session>[A-Za-z0-9][A-Za-z0-9-]{0,99})\.jsonl")
_HISTORY = re.compile(
    rf"history/(?P<space>[a-z0-9][a-z0-9_-]*/(?!\.\.?/)[a-z0-9._-]+)/(?P<part>{PACK}|{HEADS}|{SHALLOW})"
)
HEADS_FILE = re.compile(rf"(?:{_SHA}\n)+")
SHALLOW_FILE = re.compile(rf"(?:{_SHA}\n)*")


class Member(BaseModel):
    """One file of a backup."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]


class Manifest(BaseModel):
    """The last file of a backup; one without it was cut short."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: int
    overlord: str
    """The version of the program that wrote it."""
    schema_version: int
    created_at: datetime
    members: dict[str, Member]


def evidence_name(digest: str) -> str:
    return f"evidence/{digest[:2]}/{digest[2:]}"


def transcript_name(session: str) -> str:
    return f"transcripts/{session}.jsonl"


def history_name(space: str, part: str) -> str:
    return f"history/{space.casefold()}/{part}"


def history_of(name: str) -> tuple[str, str] | None:
    """The repository and the part of its history that a name stands for."""
    found = _HISTORY.fullmatch(name)
    return (found["space"], found["part"]) if found else None


def digest_of(name: str) -> str | None:
    """The hash that a file of evidence is named by."""
    found = _EVIDENCE.fullmatch(name)
    return found["place"] + found["rest"] if found else None


def is_portfolio(name: str) -> bool:
    """Whether it is a file of the portfolio: what people wrote, or what Overlord writes beside it."""
    return layout.is_prose(name) or layout.is_exported(name)


def is_known(name: str) -> bool:
    """Whether a backup may hold a file of this name."""
    plain = name in {MANIFEST, DATABASE, INSTANCE, SETTINGS} or is_portfolio(name)
    return plain or any(pattern.fullmatch(name) for pattern in (_EVIDENCE, _TRANSCRIPT, _HISTORY))


def place_in(home: Home, name: str) -> str | None:
    """Where in a home a file belongs, from its top; None for what is no file there by itself."""
    if name in {INSTANCE, SETTINGS, DATABASE}:
        return name
    if digest_of(name) or is_portfolio(name):
        return name
    if found := _TRANSCRIPT.fullmatch(name):
        return str(home.transcript(found["session"]).relative_to(home.root))
    return None
