"""Thinks and obeys: the pure planner and the node agent; no Django below this line."""
