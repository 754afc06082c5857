"""Whole ways through the portal, in a real browser against real servers."""
