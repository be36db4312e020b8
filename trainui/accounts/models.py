"""Users, projects, who may do what in a project, and API tokens."""

from __future__ import annotations

import re
import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models
from django.utils import timezone
from knox.models import AbstractAuthToken

# RFC 1123 label, as Kubernetes asks of a namespace (k8s.io/apimachinery IsDNS1123Label).
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def validate_namespace(value: str) -> None:
    """Pass a name that may be a namespace of ours.

    Raises ValidationError for anything that is no RFC 1123 label, and for `kube-` names, which are Kubernetes' own.
    """
    if not DNS_LABEL.fullmatch(value):
        raise ValidationError(
            "Use lowercase letters, digits and hyphens, at most 63, beginning and ending with a letter or digit.",
            code="dns_label",
        )
    if value.startswith("kube-"):
        raise ValidationError("Names that begin with “kube-” belong to Kubernetes.", code="reserved")


class User(AbstractUser):  # type: ignore[django-manager-missing]  # the manager of knox tokens
    """A person or a machine account; superusers are the admins of the installation."""

    is_catalog_admin = models.BooleanField("catalog admin", default=False)
    must_change_password = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.username

    @property
    def display_name(self) -> str:
        """The full name if there is one, else the user name."""
        return self.get_full_name() or self.username


class Role(models.TextChoices):
    """What a member may do in a project, least first."""

    VIEWER = "viewer", "Viewer"
    ENGINEER = "engineer", "Engineer"
    ADMIN = "admin", "Project admin"


class Project(models.Model):
    """One namespace of the cluster, with its members."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63, unique=True, validators=[validate_namespace])
    title = models.CharField(max_length=100, blank=True)
    description = models.TextField(blank=True, validators=[MaxLengthValidator(2000)])
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="projects"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def namespace(self) -> str:
        """The namespace of the cluster in which the project's objects live."""
        return self.name


class Membership(models.Model):
    """The role of one user in one project."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.ENGINEER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["user__username"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_user"),
            models.CheckConstraint(condition=models.Q(role__in=["viewer", "engineer", "admin"]), name="known_role"),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.project}"


class ApiToken(AbstractAuthToken):
    """A bearer token for REST; only its hash is kept, and it is shown once.

    `token_key` holds the first characters (the prefix and eleven of 64 digits), by which it is found and recognised.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=100)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.name} ({self.token_key}…)"

    @property
    def expired(self) -> bool:
        """True once its expiry has passed."""
        return self.expiry is not None and self.expiry <= timezone.now()


class SignInAttempt(models.Model):
    """One failed sign-in of the last minutes. The name is hashed: people type passwords into the wrong field."""

    username_hash = models.CharField(max_length=64)
    address = models.CharField(max_length=45)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["username_hash", "at"], name="sign_in_by_name"),
            models.Index(fields=["address", "at"], name="sign_in_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.address} at {self.at:%H:%M:%S}"
