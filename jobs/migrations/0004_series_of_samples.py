"""Every metric that has samples gets its row of exact numbers."""

from django.db import migrations
from django.db.models import Count, Max, Min

BATCH = 500


def make_series(apps, schema_editor):
    """Count and sum up the samples that are there; the last one is that of the newest time."""
    samples, series = apps.get_model("jobs", "MetricSample"), apps.get_model("jobs", "MetricSeries")
    rows = samples.objects.values("job_id", "name").annotate(
        count=Count("id"), first=Min("at"), newest=Max("at"), low=Min("value"), high=Max("value")
    )
    made = []
    for row in rows.iterator():
        last = samples.objects.filter(job_id=row["job_id"], name=row["name"], at=row["newest"]).order_by("-id").first()
        made.append(
            series(
                job_id=row["job_id"], name=row["name"], seen=row["count"], kept=row["count"], first_at=row["first"], last_at=row["newest"],
                last_step=last.step, last=last.value, lowest=row["low"], highest=row["high"], sampled_at=row["newest"],
            )
        )
    series.objects.bulk_create(made, batch_size=BATCH, ignore_conflicts=True)


class Migration(migrations.Migration):
    dependencies = [("jobs", "0003_actions_progress_retention")]
    operations = [migrations.RunPython(make_series, migrations.RunPython.noop)]
