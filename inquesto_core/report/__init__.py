"""Records set out for people to read."""
