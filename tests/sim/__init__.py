"""Tests of the replay: its files, its clock, its reference policies, and whole replays checked from outside."""
