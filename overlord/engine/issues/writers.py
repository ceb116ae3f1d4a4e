"""Who may give commands at the forge: those who may write to the repository, and the bots that the settings list."""

from dataclasses import dataclass, field

from overlord.domain.identifiers import RepositoryName
from overlord.engine.runtime.parts import Parts
from overlord.errors import ForgeMissing

OURS = "<!-- overlord:"
"""What everything begins that Overlord hides in its own comments."""


@dataclass(frozen=True, slots=True)
class Writers:
    """Asked once for each account, however much it says."""

    parts: Parts
    name: RepositoryName
    _known: dict[str, bool] = field(default_factory=dict)

    async def counts(self, author: str, *, is_bot: bool, text: str = "") -> bool:
        """Whether what an account did or wrote is to be acted on; what Overlord itself wrote never is."""
        if OURS in text:
            return False
        if author not in self._known:
            self._known[author] = await self._may(author, is_bot=is_bot)
        return self._known[author]

    async def _may(self, author: str, *, is_bot: bool) -> bool:
        bots = self.parts.settings.space(self.name).intake.bots
        if is_bot or author in bots:
            return author in bots
        try:
            return await self.parts.forge.may_write(self.name, author)
        except ForgeMissing:
            return False
