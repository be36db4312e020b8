"""The ASGI application that uvicorn serves: event streams first, Django for everything else."""

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "trainui.settings")
django_app = get_asgi_application()

from trainui.body_limit import bounded  # noqa: E402  needs Django's settings
from trainui.events.app import events  # noqa: E402  needs Django's apps

pages = bounded(django_app)


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Hand each request to the application that answers it; there is no lifespan work to do."""
    if scope["type"] == "lifespan":
        return
    if scope["type"] == "http" and scope["path"] == "/events":
        await events(scope, receive, send)
    else:
        await pages(scope, receive, send)
