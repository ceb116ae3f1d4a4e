"""Taking up what people want done, and the polls that see it."""
