"""Git: mirrors, quarantines, canonical commits and the one push."""
