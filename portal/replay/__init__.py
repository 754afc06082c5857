"""`./manage.py replay`: reads the files of a replay, runs it, and writes what came of it."""
