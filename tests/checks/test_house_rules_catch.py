"""Each house rule, given a tree with one thing wrong in it, says so."""

from pathlib import Path

import pytest

from tests.checks.planting import plant
from tests.house.test_house import RULES

OPENING = '"""A module."""\n'
LONG = "def long():\n" + "    x = 1\n" * 40

# rule -> what is wrong -> (place, text, a piece of the complaint)
PLANTED: dict[str, dict[str, tuple[str, str, str]]] = {
    "files and functions are short": {
        "a source file of 300 lines": ("portal/jobs/queries.py", OPENING + "x = 1\n" * 299, "300 lines"),
        "a test file of 500 lines": ("tests/core/test_order.py", OPENING + "x = 1\n" * 499, "500 lines"),
        "a template of 150 lines": ("templates/jobs/job.html", "<p>\n" * 150, "150 lines"),
        "a function of 41 lines": ("scheduler/core/order.py", OPENING + LONG, "long has 41 lines"),
        "a view of 26 lines": (
            "portal/jobs/views.py",
            OPENING + "def see(request):\n" + "    x = 1\n" * 25,
            "see has 26 lines; under 25",
        ),
    },
    "names say something": {
        "a file": ("portal/jobs/job_utils.py", OPENING, "`util` in a file name"),
        "a folder": ("portal/common/words.py", OPENING, "`common` in a file name"),
        "a class": ("portal/jobs/queries.py", OPENING + "class RunManager: ...\n", "`manager` in RunManager"),
        "a function": (
            "scheduler/core/order.py",
            OPENING + "def handler_of(): ...\n",
            "`handler` in handler_of",
        ),
        "a template": ("templates/base.html", "<p>", "`base` in a file name"),
    },
    "every module says what belongs in it": {
        "no docstring": ("portal/jobs/queries.py", "x = 1\n", "does not say what belongs in it"),
        "half a sentence": ("portal/jobs/queries.py", '"""Reads"""\n', "whole sentence"),
        "a test without one": ("tests/core/test_order.py", "x = 1\n", "does not say what belongs in it"),
    },
    "every file stands where it belongs": {
        "a stranger at the top": ("setup.cfg", "", "nothing else belongs at the top"),
        "a room nobody planned": ("portal/billing/models.py", OPENING, "neither a room"),
        "furniture nobody planned": ("portal/jobs/signals.py", OPENING, "not furniture of a room"),
        "a part of the core nobody planned": (
            "scheduler/core/network.py",
            OPENING,
            "the core has no such part",
        ),
        "a part of the scheduler nobody planned": ("scheduler/cloud.py", OPENING, "no such part"),
        "a decision without a number": ("portal/decisions/why.md", "Because.", "a decision is a page"),
        "a template in no room": ("templates/stuff/page.html", "<p>", "the folder of their room"),
    },
    "the scheduler imports only what it may": {
        "the core and Django": ("scheduler/core/order.py", OPENING + "import django\n", "imports django"),
        "the core and the wire": (
            "scheduler/core/order.py",
            OPENING + "from scheduler import wire\n",
            "imports scheduler.wire",
        ),
        "the core and a file": ("scheduler/core/order.py", OPENING + 'x = open("f")\n', "calls open()"),
        "the agent and numpy": ("scheduler/agent/loop.py", OPENING + "import numpy as np\n", "imports numpy"),
        "the agent and the core": (
            "scheduler/agent/loop.py",
            OPENING + "from scheduler.core import model\n",
            "imports scheduler.core",
        ),
        "the wire and Celery": ("scheduler/wire.py", OPENING + "import celery\n", "imports celery"),
    },
    "only doors look at the clock": {
        "an action": ("portal/jobs/actions.py", OPENING + "x = timezone.now()\n", "timezone.now"),
        "a default": ("portal/jobs/models.py", OPENING + "x = F(default=timezone.now)\n", "timezone.now"),
        "a query": ("portal/jobs/queries.py", OPENING + "x = dt.datetime.now(UTC)\n", "datetime.now"),
        "the machine's time": ("portal/cycle/apply.py", OPENING + "x = time.time()\n", "time.time"),
        "another name": (
            "portal/jobs/queries.py",
            OPENING + "from django.utils.timezone import now as n\n",
            "by now",
        ),
        "a time without argument": (
            "portal/jobs/queries.py",
            OPENING + "x = timezone.localtime()\n",
            "localtime",
        ),
    },
    "only actions and apply write": {
        "a view that creates": (
            "portal/jobs/views.py",
            OPENING + "Job.objects.create()\n",
            "Job.objects.create",
        ),
        "a query that updates": (
            "portal/jobs/queries.py",
            OPENING + "Job.objects.filter(a=1).update(b=2)\n",
            "Job.objects.filter.update",
        ),
        "a task that saves": ("portal/jobs/tasks.py", OPENING + "job.save()\n", "job.save"),
        "a query that deletes": (
            "portal/jobs/queries.py",
            OPENING + "Job.objects.all().delete()\n",
            "delete",
        ),
    },
    "suppressed rules say why": {
        "a lint rule": ("portal/errors.py", OPENING + "x = 1  # no" + "qa: E501\n", "says why"),
        "a type error": ("portal/errors.py", OPENING + "x = 1  # type: " + "ignore[misc]\n", "says why"),
        "a blind except": (
            "portal/errors.py",
            OPENING + "x = 1  # no" + "qa: BLE001  # lazy\n",
            "the agent's sensors",
        ),
    },
    "templates keep to the content policy": {
        "a style attribute": ("templates/jobs/job.html", '<p\n style="x">', "1: a style attribute"),
        "a style element": ("templates/jobs/job.html", "<style>p{}</style>", "a <style> element"),
        "an inline script": ("templates/jobs/job.html", "<p>\n<script>x()</script>", "2: an inline script"),
        "a click": ("templates/jobs/job.html", '<a onclick="x()">', "an event attribute"),
        "a click by htmx": ("templates/jobs/job.html", '<a hx-on:click="x()">', "an event attribute"),
        "a script from elsewhere": (
            "templates/jobs/job.html",
            '<script src="//x/y.js"></script>',
            "another server",
        ),
        "a javascript address": (
            "templates/jobs/job.html",
            '<a href="javascript:x()">',
            "a javascript: address",
        ),
        "unescaped text": ("templates/jobs/job.html", "{{ name|safe }}", "without escaping"),
    },
    "nothing of one machine is in the repository": {
        "a home": ("docs/guide.md", "See /ho" + "me/ada/berth.", "a machine's own path"),
        "root's home": ("portal/up/state.py", OPENING + 'x = "/ro' + 'ot/x"', "a machine's own path"),
        "a registry": ("docs/guide.md", "from https://py" + "pi.org/simple", "a package registry's address"),
        "an index": ("docs/guide.md", "pip --index" + "-url http://mirror/", "a package registry's address"),
        "a key": ("docs/guide.md", "-----BEGIN RSA PRIVATE " + "KEY-----", "a credential"),
    },
}
CASES = [(rule, what) for rule, cases in PLANTED.items() for what in cases]


@pytest.mark.parametrize(("rule", "what"), CASES, ids=[f"{rule}: {what}" for rule, what in CASES])
def test_a_planted_violation_is_found(rule: str, what: str, tmp_path: Path) -> None:
    place, text, complaint = PLANTED[rule][what]
    plant(tmp_path, place, text)
    found = RULES[rule](tmp_path)
    assert len(found) == 1, found
    assert found[0].startswith(place.split("/")[0])
    assert complaint in found[0]


def test_every_rule_was_seen_to_fail() -> None:
    elsewhere = {"the promises to a stranger are kept"}  # test_promises_catch.py
    assert set(RULES) == set(PLANTED) | elsewhere


def test_a_tree_in_order_gives_no_complaint(tmp_path: Path) -> None:
    plant(tmp_path, "portal/jobs/actions.py", OPENING + "def submit(now):\n    Job.objects.create(at=now)\n")
    plant(tmp_path, "portal/jobs/views.py", OPENING + "def see(request):\n    return timezone.now()\n")
    plant(tmp_path, "portal/jobs/migrations/0001_initial.py", "x = 1\n" * 400)
    plant(
        tmp_path,
        "scheduler/core/order.py",
        OPENING + "import numpy as np\nfrom scheduler.core import model\n",
    )
    plant(tmp_path, "templates/jobs/job.html", '{# <style> #}<script src="/static/x.js" defer></script>')
    for rule, check in RULES.items():
        if rule in PLANTED:
            assert check(tmp_path) == [], rule
