"""What happened: an append-only list of sentences with their facts."""
