"""The accounts application: users, projects, roles and tokens."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registers the application under the label that AUTH_USER_MODEL names."""

    name = "trainui.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
