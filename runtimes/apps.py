from django.apps import AppConfig


class RuntimesConfig(AppConfig):
    name = "runtimes"
