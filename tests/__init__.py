"""The tests, one folder per room; `./manage.py test` runs them all."""
