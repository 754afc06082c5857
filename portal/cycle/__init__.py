"""Look, think, write: rows to a snapshot, the planner, the plan to rows."""
