"""The planner: pure functions of a snapshot; no clock, no randomness, no I/O."""
