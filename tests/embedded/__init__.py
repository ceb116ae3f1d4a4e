"""The stand-ins, looked at from the outside."""
