"""The step after which operators' programs observe."""

PORTFOLIO = ("CREATE TABLE hook_positions (name TEXT PRIMARY KEY, ledger_id INTEGER NOT NULL) STRICT",)
