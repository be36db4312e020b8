"""Forms of the account pages; they check the shape, services decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError

from trainui.accounts.models import Project, Role, User
from trainui.accounts.services import TOKEN_DAYS

if TYPE_CHECKING:  # the classes take their model as a parameter only for the type checker
    ProjectModelForm = forms.ModelForm[Project]
    UserModelForm = forms.ModelForm[User]
else:
    ProjectModelForm = UserModelForm = forms.ModelForm


class SignInForm(forms.Form):
    """Name and password."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        max_length=4096, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class NewPasswordForm(forms.Form):
    """A new password, twice."""

    new = forms.CharField(
        label="New password",
        max_length=4096,
        strip=False,
        help_text="At least 10 characters, and not a common one.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="New password again",
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Compare the two."""
        data = super().clean() or {}
        if data.get("new") and data.get("again") and data["new"] != data["again"]:
            self.add_error("again", "The two passwords differ.")
        return data


class ChangePasswordForm(NewPasswordForm):
    """The present password and a new one."""

    current = forms.CharField(
        label="Present password",
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ["current", "new", "again"]

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_current(self) -> str:
        """Check the present password."""
        if not self.user.check_password(self.cleaned_data["current"]):
            raise ValidationError("This is not your present password.")
        return str(self.cleaned_data["current"])


class ProjectForm(ProjectModelForm):
    """A new project."""

    class Meta:
        model = Project
        fields = ["name", "title", "description"]
        help_texts = {
            "name": "The namespace in the cluster: lowercase letters, digits, hyphens. It cannot be changed later.",
            "title": "What people call it.",
        }
        widgets = {"name": forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false", "class": "mono"})}


class ProjectEditForm(ProjectModelForm):
    """What may be changed of a project."""

    class Meta:
        model = Project
        fields = ["title", "description"]


class MemberForm(forms.Form):
    """A user and a role."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.ENGINEER)


class TokenForm(forms.Form):
    """Name and lifetime of a token."""

    name = forms.CharField(max_length=100, help_text="Where it will be used, for example “nightly training”.")
    days = forms.TypedChoiceField(
        label="Expires after",
        choices=[(days, f"{days} days" if days != 365 else "1 year") for days in TOKEN_DAYS],
        initial=90,
        coerce=int,
    )


class UserForm(UserModelForm):
    """A new user."""

    class Meta:
        model = User
        fields = ["username", "email", "is_catalog_admin", "is_superuser"]
        labels = {"username": "User name", "email": "E-mail", "is_superuser": "Admin"}
        help_texts = {
            "username": "Letters, digits and @ . + - _",
            "is_catalog_admin": "May publish and change blueprints and runtimes.",
            "is_superuser": "May do everything, in all projects.",
        }
        widgets = {"username": forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"})}


class UserEditForm(UserModelForm):
    """What may be changed of a user."""

    class Meta(UserForm.Meta):
        fields = ["email", "is_catalog_admin", "is_superuser"]


def add_errors(form: forms.BaseForm, error: ValidationError) -> None:
    """Put what a service refused beside the fields it names, or above the form."""
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, problems in error.error_dict.items():
        form.add_error(name if name in form.fields else None, problems)
