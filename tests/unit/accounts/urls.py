"""The account pages alone, so that their tests need no other part."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

handler403 = "trainui.problems.permission_denied"
handler404 = "trainui.problems.not_found"


def home(request: HttpRequest) -> HttpResponse:
    """Stand for the page that the jobs have at `/`."""
    return HttpResponse("home")


urlpatterns = [path("", home), path("", include("trainui.accounts.urls")), path("", include("trainui.ui.urls"))]
