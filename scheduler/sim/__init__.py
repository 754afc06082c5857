"""PRETEND: a workload, a clock, faults, and the real planner: replay without a cluster, a database or a network."""
