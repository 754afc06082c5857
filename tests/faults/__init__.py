"""A whole `up`, and what is done to it."""
