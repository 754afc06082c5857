"""What `up` says when it cannot go on: one sentence that names what is wrong and how to mend it."""


class Trouble(Exception):
    """A sentence for the person at the terminal; shown without a traceback."""
