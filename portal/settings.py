"""Django's settings, read from the environment once; secrets come from files in the state directory."""

import os
import sys
from pathlib import Path
from typing import Any

from portal.environment import database, secret

ROOT = Path(__file__).resolve().parent.parent
STATE = Path(os.environ.get("BERTH_STATE", ROOT / ".state"))

DEMO = os.environ.get("BERTH_DEMO") == "1"
DEBUG = False
TESTING = "pytest" in sys.modules

SECRET_KEY = secret("BERTH_SECRET_KEY", STATE / "secrets" / "django.key")
# Every node's HMAC key, Redis password and HTTP token are derived from this one (agents/keys.py).
WIRE_KEY = secret("BERTH_WIRE_KEY", STATE / "secrets" / "wire.key")

BERTH_URL = os.environ.get("BERTH_URL", "http://127.0.0.1:8000")
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
AGENT_REDIS_URL = os.environ.get("BERTH_AGENT_REDIS_URL", REDIS_URL)
DATABASES: dict[str, Any] = {"default": database(os.environ.get("DATABASE_URL", "postgresql:///berth"))}

ALLOWED_HOSTS = os.environ.get("BERTH_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",")
CSRF_TRUSTED_ORIGINS = [BERTH_URL] if BERTH_URL.startswith("https://") else []
SECURE_COOKIES = BERTH_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# Cookies know no ports: a name of our own keeps two portals on one host apart from other sites.
SESSION_COOKIE_NAME = "berth_session"
CSRF_COOKIE_NAME = "berth_csrf"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

ROOMS = [
    "journal",
    "accounts",
    "cluster",
    "telemetry",
    "quotas",
    "showback",
    "jobs",
    "agents",
    "cycle",
    "home",
]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "ninja",
    *[f"portal.{room}" for room in ROOMS],
]
MIDDLEWARE = [
    "portal.guard.policy",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.guard.Refusals",
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.home.context.frame",
            ],
        },
    }
]

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "signin"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "signin"
PASSWORD_MIN_LENGTH = 10
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": PASSWORD_MIN_LENGTH},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
if TESTING:  # a slow hash costs minutes over a whole test run and proves nothing there
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

STATIC_URL = "static/"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True  # served from the checkout as it is: nothing to collect, no build step

USE_TZ = True
TIME_ZONE = os.environ.get("BERTH_TIME_ZONE", "UTC")
LANGUAGE_CODE = "en"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Larger than any form, smaller than trouble; a command far too long is still read, so that the refusal names it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 * 1024 * 1024

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
}
