"""`./manage.py up`: the whole portal on one machine, with real parts, and nothing left when it ends."""
