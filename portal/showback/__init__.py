"""What GPU time costs."""
