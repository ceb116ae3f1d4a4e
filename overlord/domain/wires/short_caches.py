"""What a session may say of a provider's cache: that something is kept there for the few minutes that have a price in `cache_write`.

A cache that is kept longer costs more than that. Where a client asks for one, it is asked for the plain one in its place.
"""

from typing import Any

CACHE_CONTROL = "cache_control"
_PLAIN = {"type": "ephemeral"}
_OF_OTHERS = frozenset({"input", "input_schema", "input_examples", "parameters", "schema"})
"""What providers read nothing of a cache in: a call's input and the forms of tools."""


def with_short_caches(text: str, value: Any) -> Any:
    """A request's body with no cache but the plain one; `text` is the same as JSON, and most have no time in it."""
    return _without_time(value) if '"ttl"' in text else value


def _without_time(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_time(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _PLAIN
        if key == CACHE_CONTROL and item is not None
        else item
        if key in _OF_OTHERS
        else _without_time(item)
        for key, item in value.items()
    }
