"""Jobs, their runs and ranks, the GPUs they hold, and what they printed."""
