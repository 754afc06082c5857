"""Thinks (core) and obeys (agent): everything below knows no Django."""
