"""People, their teams, their tokens, and the one table that says who may do what."""
