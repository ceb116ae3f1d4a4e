"""Programs of the operator's own that are called at fixed points, and may refuse at some."""

from typing import Protocol

from overlord.domain.hooks import HookAnswer, HookCall


class Hooks(Protocol):
    """The programs that the settings name for a point and a repository."""

    async def ask(self, call: HookCall) -> HookAnswer:
        """Have them all run, and wait for the last; what they say together. One that fails is written down, and never raises.

        At once a few run over all; the others wait. How long each may take is its own in the settings.
        """


class NoHooks:
    """Where no operator has any: everything may be."""

    async def ask(self, call: HookCall) -> HookAnswer:
        """Nobody is asked."""
        del call
        return HookAnswer()
