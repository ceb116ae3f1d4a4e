"""Skills nobody had seen when the rules were written, to measure what the judge catches; data only."""
