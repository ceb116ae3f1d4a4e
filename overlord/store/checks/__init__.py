"""How checks came out."""
