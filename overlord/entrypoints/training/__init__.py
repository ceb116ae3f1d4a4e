"""Training data from Overlord's own jobs: read out of the database and the evidence, written with a card that says what it is."""
