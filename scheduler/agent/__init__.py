"""Obeys: one agent per node runs what the portal orders and reports what it sees."""

VERSION = "0.1.0"
