"""What was released lately is found without reading all that ever was; made without locking anybody out."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0003_stops_for_others")]

    operations = [
        AddIndexConcurrently(
            model_name="hold",
            index=models.Index(
                condition=models.Q(("released_at__isnull", False)),
                fields=["released_at"],
                name="hold_by_release",
            ),
        ),
    ]
