"""The forms of the door, of one's own account, and of people and teams for administrators."""

from collections.abc import Collection
from typing import Any

from django import forms

from portal.accounts.models import Membership, Team, Token
from portal.errors import Refusal

ROLES = (("administrator", "Administrator"), ("finance", "Finance"))
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


def _team(label: str, none: str, **options: Any) -> "forms.ModelChoiceField[Team]":
    return forms.ModelChoiceField(
        Team.objects.all(), to_field_name="name", label=label, empty_label=none, **options
    )


def _role() -> forms.ChoiceField:
    return forms.ChoiceField(label="Role", choices=[(role.value, role.label) for role in Membership.Role])


class Person(forms.Form):
    """What an administrator may change of a person."""

    full_name = forms.CharField(
        label="Full name", max_length=100, widget=forms.TextInput({"autocomplete": "off"})
    )
    roles = forms.MultipleChoiceField(
        label="Whole organisation", choices=ROLES, required=False, widget=forms.CheckboxSelectMultiple,
        help_text="Administrators run the cluster, people and teams; finance sees every team's jobs and costs.",
    )  # fmt: skip

    def __init__(self, *args: Any, own: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if own:
            self.fields["roles"].choices = ROLES[1:]  # type: ignore[attr-defined]  # it has choices
            self.fields["roles"].help_text = "You are an administrator; only another one can change that."


class NewPerson(Person):
    """The same for somebody who is not there yet, with a team to begin with."""

    email = forms.EmailField(
        label="E-mail", help_text="They sign in with it.", widget=forms.EmailInput({"autocomplete": "off"})
    )
    team = _team("Team to begin with", "none yet", required=False)
    role = _role()

    field_order = ["email", "full_name", "roles", "team", "role"]


class Place(forms.Form):
    """A team for a person; no role means out of it."""

    team = _team("Team", "Choose a team", error_messages={"required": "Choose a team."})
    role = _role()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].required = False  # the button Remove sends none


class Member(forms.Form):
    """A person for a team; no role means out of it."""

    email = forms.EmailField(label="E-mail of the person", widget=forms.EmailInput({"autocomplete": "off"}))
    role = _role()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].required = False


class NewTeam(forms.Form):
    """A name that stays, and a place in the tree."""

    name = forms.CharField(
        label="Name", max_length=40, widget=forms.TextInput({"autocomplete": "off"}),
        help_text="Small letters, digits and hyphens. It cannot be changed later: bills and programs use it.",
    )  # fmt: skip
    parent = _team(
        "Part of", "no other team", required=False, help_text="Its quotas then count for this team too."
    )


class Parent(forms.Form):
    """Where in the tree a team stands; `seen` is where it stood when the page was made."""

    parent = _team(
        "Part of", "no other team", required=False,
        help_text="Quotas of all teams above count for this one too; their leads lead it.",
    )  # fmt: skip


def say(form: forms.Form, refusal: Refusal) -> None:
    """Put a refusal where it belongs: at its field if the form has it, else above the form."""
    form.add_error(refusal.field if refusal.field in form.fields else None, refusal.sentence)
