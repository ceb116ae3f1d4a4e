"""A form: what is asked for in words, behind a button."""

from dataclasses import dataclass, field

from overlord.domain.view.view import ActionId, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """What a form asks for in words."""

    name: str
    label: str
    hint: str = ""
    initial: str = ""
    is_long: bool = False
    is_optional: bool = False
    most: int = 2000
    """Characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A window with fields. `value` comes back with what was filled in, as a button's does."""

    action: ActionId
    value: str
    title: str
    submit: str
    fields: tuple[FormField, ...]
    parts: tuple[Part, ...] = field(default=())
    """What stands above the fields; no buttons."""
