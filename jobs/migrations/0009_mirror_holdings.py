from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def read_pods_again(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Let the next list write every pod again, with what it holds."""
    apps.get_model("jobs", "MirrorObject").objects.filter(kind="/Pod").update(resource_version="")


class Migration(migrations.Migration):
    dependencies = [("jobs", "0008_watch_version")]

    operations = [
        migrations.AddField("mirrorobject", "holds", models.JSONField(default=dict)),
        migrations.AddField("mirrorobject", "machine", models.CharField(blank=True, default="", max_length=253)),
        migrations.AddIndex(
            "mirrorobject",
            models.Index(condition=models.Q(("machine", ""), _negated=True), fields=["machine"], name="mirror_machine"),
        ),
        migrations.RunPython(read_pods_again, migrations.RunPython.noop),
    ]
