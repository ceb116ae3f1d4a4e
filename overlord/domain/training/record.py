"""A record of training data, in the forms that TRL reads: one JSON object a line.

`sft` has prompt and completion, `dpo` prompt, chosen and rejected, `kto` prompt, completion and label.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

MOST_FILE_BYTES = 20_000_000
"""Of one file of a session."""
_SPACES = re.compile(r"\s+")


class RecordKind(StrEnum):
    """What a record teaches by: one good answer, a better and a worse one, or an answer with a verdict."""

    SFT = "sft"
    DPO = "dpo"
    KTO = "kto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record. `moment` is what happened, as the reader told it; it is not written."""

    kind: RecordKind
    prompt: str
    completion: str = ""
    """Of `sft` and `kto`."""
    chosen: str = ""
    rejected: str = ""
    label: bool = False
    """Of `kto`: whether the completion is a good one."""
    moment: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        """Its texts beside the prompt."""
        return (self.chosen, self.rejected) if self.kind is RecordKind.DPO else (self.completion,)

    @property
    def line(self) -> str:
        """Its line in a file, without the line's end."""
        fields: dict[str, str | bool] = {"prompt": self.prompt}
        if self.kind is RecordKind.DPO:
            fields |= {"chosen": self.chosen, "rejected": self.rejected}
        else:
            fields["completion"] = self.completion
        if self.kind is RecordKind.KTO:
            fields["label"] = self.label
        return json.dumps(fields, ensure_ascii=False)

    @property
    def digest(self) -> str:
        """What tells it from every other record: the same for one that differs in case, in spaces or in the form of its characters."""
        parts = [self.kind, str(self.label), *map(normalised, (self.prompt, *self.answers))]
        return sha256(json.dumps(parts).encode()).hexdigest()


FIELDS = {
    RecordKind.SFT: ("prompt", "completion"),
    RecordKind.DPO: ("prompt", "chosen", "rejected"),
    RecordKind.KTO: ("prompt", "completion"),
}
"""The texts that a record of each kind has."""


class RecordError(ValueError):
    """What is no record; the words say why, for people."""


def normalised(text: str) -> str:
    """A text as it is compared: without what only looks different."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def record_of(kind: RecordKind, value: object) -> Record:
    """A record from a JSON value. Raises RecordError: `it has no chosen`. Keys that it does not have are not taken."""
    if not isinstance(value, dict):
        raise RecordError("it is no JSON object")
    texts = dict[str, str]()
    for name in (*FIELDS[kind], *(("moment",) if "moment" in value else ())):
        text = value.get(name)
        if not isinstance(text, str):
            raise RecordError(f"its {name} is no text" if name in value else f"it has no {name}")
        texts[name] = text
    label = value.get("label", False)
    if kind is RecordKind.KTO and ("label" not in value or not isinstance(label, bool)):
        raise RecordError("its label is not true or false")
    return Record(kind=kind, label=label is True and kind is RecordKind.KTO, **texts)


def read_lines(kind: RecordKind, content: bytes) -> Iterator[Record | str]:
    """The records of a file in order; in the place of a line that is none, why."""
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield record_of(kind, json.loads(line))
        except RecordError as error:
            yield f"line {number}: {error}"
        except (ValueError, RecursionError):
            yield f"line {number} is no JSON"
