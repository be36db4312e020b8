"""Addresses of the account pages."""

from django.urls import path

from trainui.accounts.web import audit, projects, sign_in, tokens, users

urlpatterns = [
    path("sign-in", sign_in.sign_in, name="sign-in"),
    path("sign-in/new-password", sign_in.first_password, name="first-password"),
    path("sign-out", sign_in.sign_out, name="sign-out"),
    path("account/password", sign_in.change_password, name="change-password"),
    path("theme", sign_in.choose_theme, name="theme"),
    path("projects", projects.index, name="projects"),
    path("new-project", projects.create, name="project-create"),
    path("projects/<slug:name>", projects.detail, name="project"),
    path("projects/<slug:name>/edit", projects.edit, name="project-edit"),
    path("projects/<slug:name>/delete", projects.delete, name="project-delete"),
    path("projects/<slug:name>/members", projects.add_member, name="member-add"),
    path("projects/<slug:name>/members/<int:pk>", projects.change_role, name="member-change"),
    path("projects/<slug:name>/members/<int:pk>/remove", projects.remove_member, name="member-remove"),
    path("tokens", tokens.index, name="tokens"),
    path("tokens/<uuid:public_id>/revoke", tokens.revoke, name="token-revoke"),
    path("users", users.index, name="users"),
    path("users/new", users.create, name="user-create"),
    path("users/<int:pk>", users.detail, name="user"),
    path("users/<int:pk>/active", users.set_active, name="user-active"),
    path("users/<int:pk>/password", users.reset_password, name="user-password"),
    path("audit", audit.index, name="audit"),
]
