"""The forms of the door and of one's own account."""

from collections.abc import Collection
from typing import Any

from django import forms

from portal.accounts.models import Token
from portal.errors import Refusal

LONGEST_PASSWORD = 200  # hashing a novel would cost us, not the one who sends it


class SignIn(forms.Form):
    """E-mail and password."""

    email = forms.EmailField(
        label="E-mail", widget=forms.EmailInput({"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=LONGEST_PASSWORD,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )


class ChangePassword(forms.Form):
    """The present password, and the new one twice."""

    old = forms.CharField(
        label="Present password",
        strip=False,
        max_length=LONGEST_PASSWORD,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password",
        strip=False,
        max_length=LONGEST_PASSWORD,
        help_text="At least 10 characters; neither common nor close to your name.",
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="New password again",
        strip=False,
        max_length=LONGEST_PASSWORD,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )

    def clean_again(self) -> str:
        again = str(self.cleaned_data["again"])
        if again != self.cleaned_data.get("new", again):
            raise forms.ValidationError("The two new passwords differ; type the same one twice.")
        return again


class MakeToken(forms.Form):
    """What a new token is called, may do, and how long it lives."""

    name = forms.CharField(
        label="Name", max_length=60, help_text="What it is for, such as nightly-eval or laptop."
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=Token.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one thing that the token may do."},
        help_text="Never more than you may yourself.",
    )
    days = forms.IntegerField(label="Lives for", min_value=1, max_value=366)

    def __init__(self, *args: Any, taken: Collection[str] = (), **kwargs: Any) -> None:
        kwargs.setdefault("initial", {"scopes": [Token.Scope.READ], "days": 90})
        super().__init__(*args, **kwargs)
        self._taken = taken

    def clean_name(self) -> str:
        """One live token per name: sending the form twice makes no second one."""
        name = str(self.cleaned_data["name"])
        if name in self._taken:
            raise forms.ValidationError(
                f"You have a live token named {name}; revoke it, or choose another name."
            )
        return name


def say(form: forms.Form, refusal: Refusal) -> None:
    """Put a refusal where it belongs: at its field if the form has it, else above the form."""
    form.add_error(refusal.field if refusal.field in form.fields else None, refusal.sentence)
