"""What we remember: one SQLite file and the evidence beside it. A fact and its ledger event are one transaction."""
