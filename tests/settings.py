"""Settings of the tests that run Django in their own process: those of the product, with no trace left in the checkout.

Instances that `tests/stack.py` starts run with the product's own settings.
"""

import os
import tempfile

os.environ.setdefault("TRAINUI_DATA_DIR", tempfile.mkdtemp(prefix="trainui-tests-"))
os.environ.pop("DATABASE_URL", None)  # tests make their databases themselves

from trainui.settings import *  # noqa: F403
from trainui.settings import DATA_DIR, DATABASES, STORAGES

# Static files come from their sources: nothing has to be collected first, and what an instance collects meanwhile disturbs nobody.
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# A file, as in production: connections that share a database in memory lock each other's tables out without waiting ("database table is locked").
# `tests/databases.py` puts PostgreSQL in its place.
DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}
