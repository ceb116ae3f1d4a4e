"""The table of models that give no replies."""

MODEL_OUTAGES = (
    """CREATE TABLE model_outages (
        model TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        detail TEXT NOT NULL,
        since TEXT NOT NULL,
        until TEXT
    ) STRICT""",
)
