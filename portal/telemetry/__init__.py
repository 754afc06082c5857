"""What the GPUs measured, over time."""
