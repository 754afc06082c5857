"""The planner, held to its promises."""
