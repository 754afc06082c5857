from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built while the log goes on

    dependencies = [
        ("jobs", "0001_initial"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="logchunk",
            index=models.Index(fields=["run", "id"], name="log_by_arrival"),
        ),
    ]
