"""Everything that changes projects, members, tokens and users: checks the right, writes, and records it in the audit.

Each function takes the acting user first and raises what `permissions.require` raises; what the input is to blame for is a
ValidationError whose keys are form fields.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.http import Http404

from trainui.accounts.models import ApiToken, Membership, Project, Role, User
from trainui.accounts.permissions import require
from trainui.audit.services import record

TOKEN_LIMIT = 50
TOKEN_DAYS = (7, 30, 90, 365)
# No 0 O 1 l I: one-time passwords are read aloud and typed.
_ALPHABET = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


# --- projects ---------------------------------------------------------------------------------------------------------


def create_project(actor: User, name: str, title: str = "", description: str = "") -> Project:
    """Make a project. Raises ValidationError for a name that is taken or can be no namespace."""
    require(actor, "administer", "projects")
    project = Project(name=name, title=title, description=description)
    project.full_clean()
    with transaction.atomic():
        project.save(force_insert=True)
        record(actor, "project.create", project)
    return project


def update_project(actor: User, project: Project, title: str, description: str) -> Project:
    """Change title and description; the name is the namespace and stays."""
    require(actor, "administer", project)
    before = {"title": project.title, "description": project.description}
    project.title, project.description = title, description
    project.full_clean()
    after = {"title": title, "description": description}
    changed = {key: {"from": before[key], "to": after[key]} for key in after if before[key] != after[key]}
    if changed:
        with transaction.atomic():
            project.save(update_fields=["title", "description"])
            record(actor, "project.update", project, detail=changed)
    return project


def delete_project(actor: User, project: Project) -> None:
    """Remove a project that has no jobs left. Raises ValidationError while it has."""
    require(actor, "view", project)
    require(actor, "administer", "projects")
    with transaction.atomic():
        jobs = getattr(project, "trainjobs", None)  # the jobs application knows us, not we it
        live = jobs.filter(live=True).count() if jobs is not None else 0
        if live:
            jobs_are = "job is" if live == 1 else "jobs are"
            raise ValidationError(f"{live} {jobs_are} still in the cluster: cancel or delete them first.", code="live")
        record(actor, "project.delete", project, detail={"members": project.memberships.count()})
        try:
            project.delete()
        except ProtectedError as error:
            kept = ", ".join(sorted({str(obj._meta.verbose_name_plural) for obj in error.protected_objects}))
            raise ValidationError(f"It still holds {kept}: delete them first.", code="kept") from None


# --- members ----------------------------------------------------------------------------------------------------------


def add_member(actor: User, project: Project, username: str, role: str) -> Membership:
    """Give a user a role. Raises ValidationError for an unknown user, a deactivated one, or one who is a member."""
    require(actor, "administer", project)
    _check_role(role)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise ValidationError({"username": "There is no active user with this name."})
    try:
        with transaction.atomic():
            membership = Membership.objects.create(project=project, user=user, role=role)
            record(actor, "member.add", user, project=project, detail={"role": role})
    except IntegrityError:
        raise ValidationError({"username": f"{username} is a member already; change the role in the list."}) from None
    return membership


def change_role(actor: User, membership: Membership, role: str) -> Membership:
    """Give a member another role."""
    require(actor, "administer", membership)
    _check_role(role)
    before, membership.role = membership.role, role
    if before != role:
        with transaction.atomic():
            membership.save(update_fields=["role"])
            detail = {"from": before, "to": role}
            record(actor, "member.change", membership.user, project=membership.project, detail=detail)
    return membership


def remove_member(actor: User, membership: Membership) -> None:
    """Take a member out; anybody may leave by themselves. Their jobs stay."""
    if membership.user_id != actor.pk or not actor.is_active:
        require(actor, "administer", membership)
    with transaction.atomic():
        record(actor, "member.remove", membership.user, project=membership.project, detail={"role": membership.role})
        membership.delete()


def _check_role(role: str) -> None:
    if role not in Role.values:
        raise ValidationError({"role": f"There is no role “{role}”."})


# --- tokens -----------------------------------------------------------------------------------------------------------


def create_token(user: User, name: str, days: int) -> tuple[ApiToken, str]:
    """Make an API token for oneself and return it with its text, which is stored nowhere.

    Raises ValidationError for a name already in use, an unusual lifetime, or too many tokens.
    """
    if not user.is_active:
        raise PermissionDenied
    if not name.strip() or len(name) > 100:
        raise ValidationError({"name": "Give it a name of at most 100 characters."})
    if days not in TOKEN_DAYS:
        raise ValidationError({"days": f"Choose one of {', '.join(map(str, TOKEN_DAYS))} days."})
    with transaction.atomic():
        if ApiToken.objects.filter(user=user, name=name).exists():
            raise ValidationError({"name": "You have a token of this name; revoke it or choose another name."})
        if ApiToken.objects.filter(user=user).count() >= TOKEN_LIMIT:
            raise ValidationError(f"You have {TOKEN_LIMIT} tokens; revoke those you no longer use.")
        token, text = ApiToken.objects.create(user=user, expiry=timedelta(days=days), name=name)
        record(user, "token.create", token, detail={"days": days})
    return token, text


def revoke_token(actor: User, token: ApiToken) -> None:
    """End a token at once: one's own, or anybody's for admins. Raises Http404 for tokens of others."""
    if token.user_id != actor.pk and not (actor.is_active and actor.is_superuser):
        raise Http404
    with transaction.atomic():
        record(actor, "token.revoke", token, detail={"owner": token.user.username})
        token.delete()


# --- users ------------------------------------------------------------------------------------------------------------


def create_user(actor: User, username: str, email: str = "", **rights: bool) -> tuple[User, str]:
    """Make a user and return it with a one-time password, to be changed at the first sign-in.

    rights: `is_catalog_admin`, `is_superuser`. Raises ValidationError for a bad or taken name.
    """
    require(actor, "administer", "users")
    if User.objects.filter(username__iexact=username).exists():
        raise ValidationError({"username": "This name is taken."})
    password = one_time_password()
    user = User(username=username, email=email, must_change_password=True, **_rights(rights))
    user.set_password(password)
    user.full_clean()
    with transaction.atomic():
        user.save(force_insert=True)
        record(actor, "user.create", user, detail={key: True for key, value in _rights(rights).items() if value})
    return user, password


def update_user(actor: User, user: User, email: str, **rights: bool) -> User:
    """Change address and rights. Raises ValidationError when admins would take their own rights away."""
    require(actor, "administer", "users")
    wanted = _rights(rights)
    if user.pk == actor.pk and not wanted["is_superuser"]:
        raise ValidationError({"is_superuser": "You cannot take this from yourself; ask another admin."})
    before = {key: getattr(user, key) for key in wanted}
    user.email = email
    for key, value in wanted.items():
        setattr(user, key, value)
    user.full_clean()
    with transaction.atomic():
        user.save(update_fields=["email", *wanted])
        record(actor, "user.update", user, detail={k: v for k, v in wanted.items() if before[k] != v})
    return user


def set_active(actor: User, user: User, active: bool) -> User:
    """Let a user in or keep them out: sessions and tokens of a deactivated user end at once, everything else stays."""
    require(actor, "administer", "users")
    if user.pk == actor.pk and not active:
        raise ValidationError("You cannot deactivate yourself.")
    if user.is_active != active:
        with transaction.atomic():
            user.is_active = active
            user.save(update_fields=["is_active"])
            record(actor, "user.activate" if active else "user.deactivate", user)
    return user


def reset_password(actor: User, user: User) -> str:
    """Replace a user's password by a one-time password and return it; their sessions end."""
    require(actor, "administer", "users")
    password = one_time_password()
    user.set_password(password)
    user.must_change_password = True
    with transaction.atomic():
        user.save(update_fields=["password", "must_change_password"])
        record(actor, "user.reset", user)
    return password


def change_password(user: User, new: str) -> None:
    """Set one's own new password. Raises ValidationError for a weak one or the one just used."""
    validate_password(new, user)
    if user.check_password(new):
        raise ValidationError("Choose another password than the one you have.", code="same")
    user.set_password(new)
    user.must_change_password = False
    with transaction.atomic():
        user.save(update_fields=["password", "must_change_password"])
        record(user, "user.change", user)


def one_time_password() -> str:
    """Return a fresh password of about 93 bits in four readable groups."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(4))


def _rights(rights: dict[str, Any]) -> dict[str, bool]:
    return {key: bool(rights.get(key)) for key in ("is_catalog_admin", "is_superuser")}
