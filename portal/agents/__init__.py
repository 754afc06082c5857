"""The portal's side of the agents: joining, beats in, orders out."""
