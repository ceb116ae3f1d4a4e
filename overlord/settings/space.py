"""The settings of one repository: what its own section says, and for everything else what is said for all.

A section is completed before it is read, so that whoever asks has every value, and what is wrong in it is named by its own
key: `spaces.<repository>.<key>`.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator

from minion.protocol import Scope, ScopeMode, SessionKind
from overlord.domain.repositories.extent import Extent
from overlord.domain.text.reference import is_full_name
from overlord.settings.agents import AgentSettings, McpName, McpSettings, resolved
from overlord.settings.chat import Approver
from overlord.settings.hooks import HooksSettings
from overlord.settings.model import BudgetLimits, Section, VariableName
from overlord.settings.portfolio import Autonomy, Portfolio
from overlord.settings.work import Checks, Delivery, Intake, Labels, Questions, Sessions

DEFAULT_MODEL = "default"
"""What a session asks for; `SpaceSettings.model_for` says which of `models` answers that."""
OVER_ALL = frozenset({"budget.day_tokens", "budget.day_usd"})
"""The caps over all repositories together, which one of them cannot have for itself."""
SECTIONS = ("labels", "sessions", "checks", "questions", "budget", "intake", "delivery", "portfolio")
"""The sections a space may have its own values in, key by key."""
_IN_DOLLARS = (
    *("budget.session_usd", "budget.job_usd", "budget.space_day_usd", "budget.day_usd"),
    "portfolio.initiative_usd",
)
"""The caps that can be kept only where every model has a price."""
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "approvers": ("slack", "approvers"),
    "four_eyes": ("slack", "four_eyes"),
    "history_depth": ("fetch", "history_depth"),
    "submodules": ("fetch", "submodules"),
    "lfs": ("fetch", "lfs"),
    "contract": ("contract",),
    "merge": ("merge",),
    "runner": ("runner",),
    "infer_scope": ("infer_scope",),
    "vet_skills": ("vet_skills",),
    "agent": ("agent",),
    "autonomy": ("autonomy",),
    "mcp": ("mcp",),
}
"""Where it is said for all what a space says under these keys."""


def _checked_name(value: str) -> str:
    if not is_full_name(value):
        raise ValueError("a repository is named owner/repo, as GitHub has it")
    return value


RepositoryText = Annotated[str, AfterValidator(_checked_name)]


class SpaceSettings(Section):
    """Everything one repository is worked on by. Nothing of it is asked for anywhere else."""

    labels: Labels
    sessions: Sessions
    """`concurrent` limits those of this repository, beside the limit over all."""
    checks: Checks
    questions: Questions
    budget: BudgetLimits
    intake: Intake
    delivery: Delivery
    portfolio: Portfolio
    autonomy: Autonomy
    """How much of the portfolio goes on without a person."""
    contract: str
    runner: Literal["auto", "docker", "process", "swarm", "kubernetes"]
    model: str = DEFAULT_MODEL
    merge: str
    """Who merges: `manual` is a person, at GitHub."""
    scope: tuple[str, ...] | None = None
    issue_scopes: dict[int, tuple[str, ...]] = Field(default_factory=dict)
    """What single issues may write, by number, in place of `scope`."""
    scope_map: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """What issues with a label may write, where `scope` says nothing."""
    infer_scope: bool
    """Whether an issue's own words say what may be written, where `scope` says nothing."""
    vet_skills: bool | Literal["every"]
    """Whether pull requests that change skills are judged; `every`: the others are given the commit status too."""
    base_branch: str | None = None
    setup_secrets: dict[VariableName, SecretStr] = Field(default_factory=dict)
    """What its setup, and nothing else, is given as environment variables: a sign-in to a private index."""
    history_depth: Annotated[int, Field(ge=0)]
    submodules: bool
    lfs: bool
    approvers: tuple[Approver, ...]
    """Who may decide for this repository in the chat."""
    four_eyes: bool
    agent: str
    """The coding agent that works here, where a contract's role and the issue's labels say nothing else."""
    issue_agents: dict[int, str] = Field(default_factory=dict)
    """The agents of single issues, by number, whatever labels and contract say."""
    mcp: dict[McpName, McpSettings]
    """Servers of tools that sessions are offered, by name."""
    hooks: HooksSettings = HooksSettings()
    """The operator's programs that are called for this repository, beside those for all."""

    @field_validator("scope")
    @classmethod
    def _parses(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None:
            Scope.parse(Scope(mode=ScopeMode.DIRECTORY, patterns=value).to_json())
        return value

    @field_validator("issue_scopes", "scope_map")
    @classmethod
    def _all_parse(cls, value: dict[Any, tuple[str, ...]]) -> dict[Any, tuple[str, ...]]:
        for patterns in value.values():
            cls._parses(patterns)
        return value

    @field_validator("merge")
    @classmethod
    def _is_manual(cls, value: str) -> str:
        return check_merge(value)

    def scope_of(self, issue: int, labels: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        """What may be written for an issue with these labels; None when this repository narrows nothing.

        What is said for the issue itself counts first, then `scope`, then all that its labels stand for together.
        """
        if (own := self.issue_scopes.get(issue, self.scope)) is not None:
            return own
        carried = {label.casefold() for label in labels}
        found = [patterns for label, patterns in self.scope_map.items() if label.casefold() in carried]
        return tuple(dict.fromkeys(pattern for patterns in found for pattern in patterns)) or None

    def scope_source(self, issue: int, labels: tuple[str, ...]) -> str:
        """Where that is said, for people."""
        if issue in self.issue_scopes:
            return f"settings, issue_scopes of issue {issue}"
        if self.scope is not None:
            return "settings, scope"
        carried = {label.casefold() for label in labels}
        named = (label for label in self.scope_map if label.casefold() in carried)
        return f"settings, scope_map of label {', '.join(named)}"

    def model_for(self, kind: SessionKind) -> str:
        """The one name of `models` that a session of this kind may use here; a review and a draft have the review's."""
        is_judge = kind in {SessionKind.REVIEW, SessionKind.DRAFT}
        own = self.checks.review_model if is_judge else self.model
        return self.model if own == DEFAULT_MODEL else own

    def extent(self) -> Extent:
        """How much of the repository is fetched."""
        return Extent(history_depth=self.history_depth, submodules=self.submodules, lfs=self.lfs)


def check_chosen(
    general: str, spaces: Mapping[str, SpaceSettings], known: Mapping[str, AgentSettings]
) -> None:
    """Raises ValueError for an agent that is named and that there is not."""
    asked = {"agent": general}
    for name, own in spaces.items():
        asked[f"spaces.{name}.agent"] = own.agent
        asked |= {f"spaces.{name}.issue_agents.{issue}": agent for issue, agent in own.issue_agents.items()}
    for key, agent in asked.items():
        try:
            resolved(agent, known)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None


def caps_in_dollars(sections: Mapping[str, Section]) -> list[str]:
    """The keys under which dollars are capped, of sections by what their keys begin with."""
    return [
        f"{prefix}{key}"
        for prefix, section in sections.items()
        for key in _IN_DOLLARS
        if attrgetter(key)(section) is not None
    ]


def check_merge(value: str) -> str:
    """Raises ValueError for a way to merge that there is not."""
    if value != "manual":
        raise ValueError("manual is the only way there is: a person merges at GitHub")
    return value


def completed(own: Mapping[str, Any], general: Mapping[str, Any]) -> dict[str, Any]:
    """A space's section with what is said for all where it says nothing; what is no mapping is left to be refused."""
    whole = {
        name: value for name, path in _ELSEWHERE.items() if (value := _value_at(general, path)) is not None
    }
    whole |= {name: _with(general.get(name), own.get(name)) for name in SECTIONS if name in general}
    whole |= {name: value for name, value in own.items() if name not in SECTIONS and value is not None}
    return whole


def refuse_what_is_of_all(spaces: Mapping[str, Any]) -> None:
    """Raises ValueError for a cap over all repositories in the section of one."""
    for space, own in spaces.items():
        budget = own.get("budget") if isinstance(own, Mapping) else None
        for name in budget if isinstance(budget, Mapping) else ():
            if f"budget.{name}" not in OVER_ALL:
                continue
            raise ValueError(
                f"spaces.{space}.budget.{name}: this caps all repositories together; one of them has"
                f" space_{name} for itself"
            )


def place_for_all(key: str) -> tuple[str, ...]:
    """Where the settings say for all what a space says under this key."""
    return _ELSEWHERE.get(key, tuple(key.split(".")) if key.split(".", maxsplit=1)[0] in SECTIONS else ())


def keys_of(own: Mapping[str, Any]) -> frozenset[str]:
    """The keys a space's section has, as `budget.job_usd`."""
    return frozenset(
        f"{name}.{key}" if name in SECTIONS and isinstance(value, Mapping) else name
        for name, value in own.items()
        for key in (value if name in SECTIONS and isinstance(value, Mapping) else ("",))
    )


def _with(general: Any, own: Any) -> Any:
    if own is None:
        return general
    return {**general, **own} if isinstance(general, Mapping) and isinstance(own, Mapping) else own


def _value_at(general: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = general
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
