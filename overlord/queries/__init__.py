"""Every look a person can have. Neutral values; each interface renders them."""
