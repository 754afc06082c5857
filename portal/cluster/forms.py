"""The form with which an administrator drains a node."""

from django import forms


class Drain(forms.Form):
    """Why: whoever finds the node drained reads it."""

    reason = forms.CharField(
        label="Why",
        max_length=200,
        help_text="Everybody reads this on the node's page, such as: fan 3 is loud, ticket 812.",
        error_messages={"required": "Say why, so that whoever finds the node drained knows."},
    )
