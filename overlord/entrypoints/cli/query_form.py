"""What a query's command prints."""

from enum import StrEnum


class Form(StrEnum):
    """What is printed."""

    VIEW = "view"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"
    SVG = "svg"
