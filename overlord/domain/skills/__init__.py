"""Skills: their files, which fit an issue, the verdict on them, and drafts of new ones."""
