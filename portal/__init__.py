"""Berth's portal: it remembers and shows."""
