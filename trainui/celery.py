"""Celery: messages are doorbells only. What counts is that a row is due, and the sweep finds that too."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "trainui.settings")

app = Celery("trainui")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["jobs.reconcile", "runtimes"])
app.conf.beat_schedule = {
    "sweep": {"task": "jobs.reconcile.tasks.sweep", "schedule": 10.0, "options": {"expires": 10}},
    "expire": {"task": "jobs.reconcile.tasks.expire", "schedule": 60.0, "options": {"expires": 60}},
    "survey": {"task": "jobs.reconcile.tasks.survey", "schedule": 60.0, "options": {"expires": 60}},
    "quotas": {"task": "jobs.reconcile.tasks.quotas", "schedule": 15.0, "options": {"expires": 15}},
    "sweep-runtimes": {"task": "runtimes.tasks.sweep", "schedule": 30.0, "options": {"expires": 30}},
}
