"""The settings Overlord goes by: swapped as a whole between two passes, while a step under way keeps those it began with."""

from collections.abc import Callable
from functools import cache, partial

from overlord.domain.contracts.contract import Contract
from overlord.domain.hooks import Hook, HookProgram
from overlord.domain.repositories.extent import Extent
from overlord.domain.text.redaction import Redactor
from overlord.settings.load import Settings, check_prices, contract_for


class CurrentSettings:
    """Whoever has this one goes by the settings of now; whoever has `still()` by those of that moment."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.contract: Callable[[str], Contract] = cache(partial(contract_for, settings))
        """The contract of a space."""
        self.redactor = Redactor(settings.secrets())
        """Knows the secrets of these settings, and of all that were held before."""

    def extent(self, name: str) -> Extent:
        """How much of a repository is fetched."""
        return self.settings.extent(name)

    def hook_programs(self, hook: Hook, space: str) -> tuple[HookProgram, ...]:
        """What is called at a point: the programs for all, then those of the repository."""
        settings = self.settings
        own = settings.space(space).hooks.programs(hook) if space else ()
        return (*settings.hooks.programs(hook), *own)

    def take(self, settings: Settings) -> None:
        """Go by these from now on. Raises ContractError and SettingsError for what cannot be worked by, and keeps the others."""
        check(settings)
        self.settings = settings
        self.contract = cache(partial(contract_for, settings))
        self.redactor.learn(settings.secrets())

    def still(self) -> "CurrentSettings":
        """The same, for somebody who is to see nothing else."""
        copy = CurrentSettings.__new__(CurrentSettings)
        copy.settings, copy.contract, copy.redactor = self.settings, self.contract, self.redactor
        return copy


def check(settings: Settings) -> None:
    """Raises ContractError for a contract that breaks the constitution, SettingsError for a file that cannot be read or a cap
    that cannot be kept."""
    for name in settings.repositories:
        check_prices(settings, contract_for(settings, name))
