"""The judge at work: each check on Overlord's own diff, then the verdict."""
