"""All settings of trainui. Variables of the environment are read here and nowhere else (except by the supervisor and the local cluster).

`python manage.py settings_doc` prints the table of variables that README shows.
"""

import os
import secrets
import zoneinfo
from importlib import resources
from pathlib import Path

from trainui.database import configuration
from trainui.env import BadSetting, Env

BASE_DIR = Path(__file__).resolve().parent.parent
ENV = env = Env()

DATA_DIR = Path(
    env.text(
        "TRAINUI_DATA_DIR",
        str(BASE_DIR / ".trainui" / "data"),
        "Folder of all local data: database, logs, artifacts, local cluster.",
        shown=".trainui/data",
    )
).resolve()
DEBUG = env.flag(
    "TRAINUI_DEBUG", False, "Django's debug pages and the style guide at /styleguide. Never on a reachable address."
)
PUBLIC_URL = env.text(
    "TRAINUI_PUBLIC_URL", "http://127.0.0.1:8000", "Address of this installation as pods and people reach it."
).rstrip("/")
if not PUBLIC_URL.startswith(("http://", "https://")):
    raise BadSetting("TRAINUI_PUBLIC_URL", f"is {PUBLIC_URL!r}: it must begin with http:// or https://")
POD_URL = env.text(
    "TRAINUI_POD_URL",
    PUBLIC_URL,
    "Address at which pods report progress, where it is another.",
    shown="TRAINUI_PUBLIC_URL",
).rstrip("/")
if not POD_URL.startswith(("http://", "https://")):
    raise BadSetting("TRAINUI_POD_URL", f"is {POD_URL!r}: it must begin with http:// or https://")


def _pod_ca() -> str:
    path = env.text("TRAINUI_POD_CA", "", "File with the CA certificate of that address, for pods that do not know it.")
    try:
        return Path(path).read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            "TRAINUI_POD_CA", f"names a file that cannot be read ({type(error).__name__}: {path})"
        ) from None


POD_CA = _pod_ca()
KUBECONFIG = env.text(
    "TRAINUI_KUBECONFIG",
    str(DATA_DIR / "cluster" / "kubeconfig"),
    "kubeconfig of the cluster, or `in-cluster` for the service account of the pod; the local cluster writes its own.",
    shown="<data>/cluster/kubeconfig",
)
_LOCAL_KUBECONFIG = DATA_DIR / "cluster" / "kubeconfig"
OWN_CLUSTER = (
    Path(KUBECONFIG) == _LOCAL_KUBECONFIG and _LOCAL_KUBECONFIG.exists()
)  # the local cluster of this installation
POD_DNS = env.flag("TRAINUI_POD_DNS", False, "Whether pods resolve each other's names; the local cluster's do not.")
REDIS_URL = env.text(
    "REDIS_URL",
    f"unix://{DATA_DIR / 'run' / 'broker.sock'}",
    "Broker and event stream: redis://, rediss:// or unix:///path. The embedded broker by default.",
    shown="embedded",
)
EVENT_STREAM_LIMIT = env.integer(
    "TRAINUI_EVENT_STREAM_LIMIT", 1000, "Open event streams per web process; more are answered 503.", minimum=1
)
LOG_MAX_BYTES = env.integer(
    "TRAINUI_LOG_MAX_BYTES",
    1 << 30,
    "Largest archived log of one container in bytes; the rest is counted and dropped.",
    minimum=1 << 16,
)
ARTIFACT_MAX_BYTES = env.integer("TRAINUI_ARTIFACT_MAX_BYTES", 2 << 30, "Largest artifact in bytes.", minimum=1)
BODY_MAX_BYTES = env.integer(
    "TRAINUI_BODY_MAX_BYTES", 2 << 20, "Largest request body of pages and REST in bytes.", minimum=1 << 16
)
RETENTION_DAYS = env.integer(
    "TRAINUI_RETENTION_DAYS",
    0,
    "Days after its end that a job's record, events, metrics, logs and artifacts are removed, and its TrainJob with them; 0 keeps them for ever.",
    maximum=36_500,
)
STALLED_MINUTES = env.integer(
    "TRAINUI_STALLED_MINUTES",
    15,
    "Minutes without a log line and without a metric after which a running job is said to be stalled; 0 never says so.",
    maximum=100_000,
)
LOG_LEVEL = env.text(
    "TRAINUI_LOG_LEVEL", "INFO", "Level of our own log.", choices=("DEBUG", "INFO", "WARNING", "ERROR")
)
SECURE = env.flag("TRAINUI_SECURE", False, "Set when people reach trainui by https: secure cookies, HSTS.")
ALLOWED_HOSTS = env.names(
    "TRAINUI_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], "Host names that requests may carry."
)
CSRF_TRUSTED_ORIGINS = env.names("TRAINUI_TRUSTED_ORIGINS", [], "Origins (https://host) of forms behind a proxy.")
TIME_ZONE = env.text("TRAINUI_TIME_ZONE", "UTC", "Time zone of exact times on pages.")
if TIME_ZONE not in zoneinfo.available_timezones():
    raise BadSetting("TRAINUI_TIME_ZONE", f"is {TIME_ZONE!r}: name a time zone such as Europe/Berlin")


def _secret_key() -> str:
    given = env.secret(
        "TRAINUI_SECRET_KEY", "Key of sessions and signatures; made and kept in the data folder when unset."
    )
    if given:
        return given
    path = DATA_DIR / "secret-key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(secrets.token_urlsafe(50))
        return path.read_text()
    except FileExistsError:  # another process of ours was faster
        return path.read_text()
    except OSError as error:
        raise BadSetting(
            "TRAINUI_DATA_DIR", f"cannot be written ({error.strerror}: {path}): name a folder of yours"
        ) from None


SECRET_KEY = _secret_key()
LOGS_DIR = DATA_DIR / "logs"
ARTIFACTS_DIR = DATA_DIR / "artifacts"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "heroicons",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "trainui.accounts",
    "trainui.audit",
    "trainui.events",
    "trainui.ui",
    "runtimes",
    "jobs",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "trainui.middleware.BodyLimitMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",  # ETags: fragments that did not change answer 304
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "trainui.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "trainui.urls"
ASGI_APPLICATION = "trainui.asgi.application"  # there is no WSGI: event streams need ASGI
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]


def _database() -> dict[str, object]:
    url = env.text(
        "DATABASE_URL",
        f"sqlite:///{DATA_DIR / 'trainui.sqlite3'}",
        "Database: sqlite:///path or postgres://user:password@host/name.",
        shown="SQLite in the data folder",
    )
    try:
        return configuration(url)
    except ValueError as error:  # the URL may hold a password: it is not repeated
        raise BadSetting(
            "DATABASE_URL",
            f"is no database URL ({type(error).__name__}): use sqlite:///path or postgres://user:password@host/name",
        ) from None


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
KNOX_TOKEN_MODEL = "accounts.ApiToken"  # noqa: S105  a model's name
LOGIN_URL = "/sign-in"
LOGIN_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_HSTS_SECONDS = 31536000 if SECURE else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "trainui.problems.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_MAX_BYTES

# Addresses of one user's sockets differ: redis-py says unix://, kombu says redis+socket://.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1) if REDIS_URL.startswith("unix://") else REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 60,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_connect_timeout": 3,  # a request that rings waits no longer for a broker that is away
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
_uplot = Path(str(resources.files("youplot"))) / "vendor"
STATICFILES_DIRS = [BASE_DIR / "static", ("vendor", _uplot)]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = DEBUG

USE_I18N = True
USE_TZ = True
LANGUAGE_CODE = "en"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "trainui.accounts.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "trainui.problems.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
REST_KNOX = {"TOKEN_PREFIX": "tui_", "TOKEN_TTL": None, "AUTH_HEADER_PREFIX": "Bearer", "AUTO_REFRESH": False}
SPECTACULAR_SETTINGS = {
    "TITLE": "trainui",
    "DESCRIPTION": "Distributed training jobs on Kubernetes: the objects are Kubeflow's TrainJob, TrainingRuntime and ClusterTrainingRuntime.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {"celery.worker.strategy": {"level": "WARNING"}, "celery.app.trace": {"level": "WARNING"}},
}
