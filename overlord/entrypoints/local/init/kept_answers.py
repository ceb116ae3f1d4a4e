"""Answers that are typed and not sent yet: kept as each is typed, so that nobody types one twice, however the command ended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from overlord.domain.decision import Decision

NAME = "typed-answers.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """A file with the answers to one batch of questions."""

    path: Path

    def of(self, decision: Decision) -> list[str]:
        """What was typed for these very questions; nothing where they are others."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            is_it = [found["decision"], found["digest"]] == [decision.id, decision.digest]
            return [str(text) for text in found["answers"]][: len(decision.options)] if is_it else []
        except (OSError, ValueError, LookupError, TypeError):
            return []

    def keep(self, decision: Decision, answers: Sequence[str]) -> None:
        """Write down what was typed so far. A disk that takes nothing more costs only the comfort."""
        text = json.dumps({"decision": decision.id, "digest": decision.digest, "answers": list(answers)})
        new = self.path.with_suffix(".new")
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(self.path)
        except OSError:
            return

    def forget(self) -> None:
        """They were sent."""
        self.path.unlink(missing_ok=True)
