"""What is looked at again only after a while, by the daemon's own clock."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Pace:
    """When each thing was looked at last. Forgotten with the daemon: its first pass looks at everything."""

    _done: dict[str, float] = field(default_factory=dict)

    def is_time(self, name: str, every_s: float, now: float) -> bool:
        """Whether it was not looked at for so long."""
        last = self._done.get(name)
        return last is None or now - last >= every_s

    def done(self, name: str, now: float) -> None:
        """It is looked at now."""
        self._done[name] = now
