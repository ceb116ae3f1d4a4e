"""Values as JSON, for programs."""

import dataclasses
import json
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON in ASCII: what a terminal would act on, controls beyond ASCII and direction marks too, stays escaped."""
    return json.dumps(value, default=_json_value, indent=indent)


def _json_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
