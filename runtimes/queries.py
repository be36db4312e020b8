"""What may be seen of the catalog."""

from django.db.models import Q, QuerySet

from runtimes.models import Runtime
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects


def visible_runtimes(user: User) -> QuerySet[Runtime]:
    """Return cluster runtimes, which everybody signed in may see, and those in the namespaces of the user's projects."""
    return Runtime.objects.filter(Q(namespace="") | Q(namespace__in=visible_projects(user).values("name"))).order_by(
        "position", "name"
    )
