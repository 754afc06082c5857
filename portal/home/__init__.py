"""The first page after signing in, and the frame around every page."""
