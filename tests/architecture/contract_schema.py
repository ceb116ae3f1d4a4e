"""The JSON Schema of contracts, written for editors: `python -m tests.architecture.contract_schema`."""

import json

from overlord.domain.contracts.schema import contract_schema
from tests.architecture.test_imports import ROOT

PATH = ROOT / "config" / "contract.schema.json"


def text() -> str:
    """The file as it should be."""
    return json.dumps(contract_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
