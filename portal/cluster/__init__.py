"""The machines: clusters, pools, nodes and their GPUs."""
