"""What a job's next session is asked in place of work: kept in the job's row."""

from dataclasses import dataclass

from pydantic import TypeAdapter

from minion.protocol import ConsultationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to a role whose session writes nothing."""

    kind: ConsultationKind
    role: str
    """Who is asked."""
    about: str
    """The role that cannot go on, or the gate."""
    why: str
    """What happened, or what the gate shows. Untrusted."""
    tried: int = 0
    """Sessions that were asked this already and gave no answer."""

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()


_ADAPTER = TypeAdapter(Asked)


def read_asked(text: str) -> Asked | None:
    """What a job's row says; None where its next session works."""
    return _ADAPTER.validate_json(text) if text else None
