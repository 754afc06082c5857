"""The policy: data with a history, read by everybody, changed by administrators, and what the planner goes by."""

import re
import threading
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from portal.cluster.models import Pool
from portal.cycle import policy, queries, snapshot
from portal.cycle.figures import DEFAULTS, FIGURES, changes, said
from portal.cycle.models import PolicyVersion
from portal.errors import Conflict, NotFound, Refusal
from portal.journal.models import Entry
from scheduler.core.policy import Peak, Policy
from tests.portal.caller import problem, with_token
from tests.portal.stage import Stage

PEAK = {"from_hour": 9, "until_hour": 18, "gpus": 64, "tiers": ["standard"], "weekdays": [0, 1, 2, 3, 4]}


def save(
    stage: Stage, *, seen: int = 0, why: str = "trying it", by: str = "noor", **figures: Any
) -> list[Any]:
    """A new version: what is in force, with some figures changed."""
    whole = {**queries.in_force().figures, **figures}
    return policy.set_policy(figures=whole, seen=seen, why=why, by=stage.people[by], now=stage.now)


# ---- Versions


def test_before_anybody_changes_it_the_defaults_are_in_force(stage: Stage) -> None:
    assert queries.in_force().number == 0
    assert snapshot.take(now=stage.now).policy == Policy()


def test_a_change_is_in_force_for_the_next_snapshot_and_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings: list[int] = []
    monkeypatch.setattr("portal.bell.ring", lambda: rings.append(1))
    changed = save(stage, why="  Teams asked\nfor more time ", grace_s=300, peaks=[PEAK])
    assert [str(one) for one in changed] == [
        "Grace: 2\u00a0min → 5\u00a0min",
        "Peak hours: none → 64\u00a0GPUs and more, Mon to Fri 9 to 18\u00a0h UTC, standard",
    ]
    found = snapshot.take(now=stage.now).policy
    assert (found.grace_s, found.peaks) == (300.0, (Peak(9, 18, 64, ("standard",)),))
    row = PolicyVersion.objects.get()
    assert (row.number, row.by, row.at, row.why) == (
        1, stage.people["noor"], stage.now, "Teams asked for more time",
    )  # fmt: skip
    told = Entry.objects.get(kind="policy")
    assert (told.subject, told.actor, told.verb) == (1, stage.people["noor"], "changed")
    assert "because Teams asked for more time: Grace: 2\u00a0min → 5\u00a0min" in told.sentence
    assert len(rings) == 1


def test_nothing_different_is_no_version(stage: Stage) -> None:
    assert save(stage, grace_s=120) == []
    assert not PolicyVersion.objects.exists()


def test_an_older_version_comes_back_as_the_newest(stage: Stage) -> None:
    save(stage, grace_s=300)
    save(stage, seen=1, grace_s=60, cycle_s=10)
    noor = stage.people["noor"]
    policy.restore(number=1, seen=2, why="it was better", by=noor, now=stage.now)
    assert queries.in_force().number == 3
    assert queries.in_force().figures == queries.version(1).figures
    policy.restore(number=0, seen=3, why="from the start", by=noor, now=stage.now)
    assert queries.policy_of(queries.in_force()) == Policy()
    assert [(one.number, len(changed)) for one, changed in queries.history()] == [
        (4, 1),
        (3, 2),
        (2, 2),
        (1, 1),
    ]
    with pytest.raises(NotFound):
        policy.restore(number=9, seen=4, why="what?", by=noor, now=stage.now)


def test_what_the_first_version_changed_stays_told_when_a_default_changes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(stage, grace_s=300)
    save(stage, seen=1, cycle_s=10)
    monkeypatch.setattr(queries, "DEFAULTS", {**DEFAULTS, "reservation_depth": 99})
    told = {one.number: [str(change) for change in changed] for one, changed in queries.history()}
    assert told == {
        2: ["Longest pause between rounds: 30\u00a0s → 10\u00a0s"],
        1: ["Grace: 2\u00a0min → 5\u00a0min"],
    }
    assert [one.number for one, _ in queries.history(1)] == [2]


WRONG = {
    "no reason": ({}, " ", "why"),
    "an endless reason": ({}, "x" * 501, "why"),
    "no such figure": ({"speed": 1}, "so", "speed"),
    "a time that cannot be": ({"grace_s": -1}, "so", "grace_s"),
    "a tier that cannot be": ({"min_runtime_s": {"standard": "long"}}, "so", "min_runtime_s.standard"),
    "half a peak": ({"peaks": [{"gpus": 8}]}, "so", "peaks[0]"),
    "a pause shorter than a tick": ({"cycle_s": 4}, "so", "cycle_s"),
    "a policy for replays": ({"name": "fifo"}, "so", "name"),
    "another one for replays": ({"name": "easy"}, "so", "name"),
    "a time without end": ({"half_life_s": None}, "so", "half_life_s"),
    "a time beyond every date": ({"relax_after_s": 1e15}, "so", "relax_after_s"),
    "a time of a tier beyond every date": ({"max_duration_s": {"standard": 1e15}}, "so", "max_duration_s.standard"),
    "a grace that no agent takes": ({"grace_s": 86_401}, "so", "grace_s"),
    "a number beyond counting": ({"search_steps": 10**18}, "so", "search_steps"),
    "a pool that is not there": ({"production_pools": ["train", "tarin"]}, "so", "production_pools"),
    "a pool with an impossible name": ({"sharing_pools": ["\0"]}, "so", "sharing_pools"),
    "a pool for nobody": ({"production_pools": ["train"], "sharing_pools": ["train"]}, "so", "sharing_pools"),
}  # fmt: skip


@pytest.mark.parametrize(("figures", "why", "field"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused_at_its_field(
    stage: Stage, figures: dict[str, Any], why: str, field: str
) -> None:
    stage.pool()
    with pytest.raises(Refusal) as refused:
        policy.set_policy(figures=figures, seen=0, why=why, by=stage.people["noor"], now=stage.now)
    assert refused.value.field == field
    assert refused.value.sentence.endswith(".")
    assert not PolicyVersion.objects.exists()


def test_who_saves_from_an_older_version_is_told_who_was_quicker(stage: Stage) -> None:
    save(stage, why="more time to save", grace_s=300)
    with pytest.raises(
        Conflict, match=r"Noor Haddad changed the policy meanwhile \(version 1: more time to save\)"
    ):
        save(stage, seen=0, grace_s=60)


def test_of_two_at_once_one_is_told_and_neither_is_lost(stage_shared: Stage) -> None:
    stage, start, said_no = stage_shared, threading.Barrier(2, timeout=20), []

    def change(seconds: int) -> None:
        try:
            start.wait()
            save(stage, grace_s=seconds)
        except Conflict as why:
            said_no.append(why.sentence)
        finally:
            connection.close()

    threads = [threading.Thread(target=change, args=(seconds,)) for seconds in (60, 300)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len(said_no) == 1
    assert PolicyVersion.objects.count() == 1


def test_the_database_lets_nobody_rewrite_history(stage: Stage) -> None:
    save(stage, grace_s=300)
    for rewrite in (PolicyVersion.objects.all().delete, lambda: PolicyVersion.objects.update(why="other")):
        with pytest.raises(IntegrityError, match="is history"), transaction.atomic():
            rewrite()
    for wrong in ({"number": 1, "why": "twice"}, {"number": 2, "why": ""}, {"number": 0, "why": "none"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            PolicyVersion.objects.create(at=stage.now, by=stage.people["noor"], figures={}, **wrong)


def test_a_version_of_an_older_berth_stops_nobody(stage: Stage) -> None:
    figures = {"grace_s": 300, "forgotten_figure": 1, "cycle_s": "soon", "peaks": [{"gpus": 1}]}
    PolicyVersion.objects.create(number=1, at=stage.now, by=stage.people["noor"], why="old", figures=figures)
    found = snapshot.take(now=stage.now).policy
    assert (found.grace_s, found.cycle_s, found.peaks) == (300.0, Policy().cycle_s, ())


# ---- In words


def test_every_figure_has_its_words_and_its_field() -> None:
    unworded = {each.name for each in fields(Policy)} - FIGURES.keys() - {"name"}
    assert not unworded, f"say in portal/cycle/figures.py what {unworded} mean"
    assert FIGURES.keys() <= DEFAULTS.keys()


SAID = {
    "7\u00a0d": ("half_life_s", 604800.0),
    "1\u00a0min\u00a030\u00a0s": ("grace_s", 90.0),
    "0\u00a0s": ("relax_after_s", 0.0),
    "0.5\u00a0s": ("cycle_s", 0.5),
    "10\u00a0min": ("min_runtime_s", dict.fromkeys(("production", "standard", "opportunistic"), 600.0)),
    "production no limit, standard 2\u00a0d, opportunistic 1\u00a0h": (
        "max_duration_s", {"production": None, "standard": 172800.0, "opportunistic": 3600.0},
    ),
    "no limit": ("max_jobs_per_user", dict.fromkeys(("production", "standard", "opportunistic"))),
    "a, b and c": ("sharing_pools", ["a", "b", "c"]),
    "none": ("production_pools", []),
    "200,000,000": ("search_steps", 200_000_000),
    "0.75": ("guard_share", 0.75),
    "8\u00a0GPUs and more, Mon and Sun 22 to 6\u00a0h UTC, standard and opportunistic": (
        "peaks",
        [{"gpus": 8, "from_hour": 22, "until_hour": 6, "tiers": ["standard", "opportunistic"], "weekdays": [6, 0]}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "figure"), SAID.items(), ids=SAID)
def test_a_figure_is_said_exactly(words: str, figure: tuple[str, Any]) -> None:
    name, value = figure
    assert said(FIGURES[name], value) == words


def test_changes_are_told_in_the_order_of_the_page() -> None:
    after = {**DEFAULTS, "search_steps": 1, "half_life_s": 86400.0}
    assert [one.label for one in changes(DEFAULTS, after)] == ["Half-life of use", "Steps of a round"]


# ---- The pages


@pytest.fixture
def noor(stage_now: Stage, signed_in: Callable[..., Client]) -> Client:
    return signed_in(stage_now.people["noor"])


def form_of(page: str) -> dict[str, Any]:
    """Every field of the policy's form as it stands, as a browser would send it."""
    form = page[page.index('action="/policy/change"') :]
    found: dict[str, Any] = {}
    for one in re.findall(r"<input[^>]*>", form[: form.index("</form>")]):
        name, value = re.search(r'name="([^"]*)"', one)[1], re.search(r'value="([^"]*)"', one)
        if 'type="checkbox"' in one:
            found.setdefault(name, []).extend([value[1]] if "checked" in one else [])
        else:
            found[name] = value[1] if value else ""
    return found


def test_everybody_reads_the_policy_and_only_administrators_find_the_way_to_change_it(
    stage_now: Stage, noor: Client, signed_in: Callable[..., Client]
) -> None:
    save(stage_now, why="slow checkpoints", grace_s=300)
    for who in ("mira", "ines"):
        client = signed_in(stage_now.people[who])
        page = client.get("/policy").text
        for words in (
            "Version 1",
            "Noor Haddad: slow checkpoints",
            "5\u00a0min",
            "2\u00a0min",
            "Half-life of use",
        ):
            assert words in page
        assert "Change policy" not in page
        assert "Restore" not in client.get("/policy/0").text
        assert client.get("/policy/change").status_code == 403
        assert client.post("/policy/0/restore", {"why": "mine", "seen": "1"}).status_code == 403
    assert "Change policy" in noor.get("/policy").text


def test_the_rules_are_told_with_the_figures_in_force(stage_now: Stage, noor: Client) -> None:
    assert "starts within 12\u00a0min\u00a030\u00a0s" in noor.get("/policy").text
    save(stage_now, grace_s=60, min_runtime_s=0, cycle_s=30, protect_after_s=3600)
    page = noor.get("/policy").text
    assert "starts within 1\u00a0min\u00a030\u00a0s" in page
    assert "After 1\u00a0h it earns a protected reservation" in page


def test_the_form_comes_filled_and_what_is_sent_back_unchanged_changes_nothing(
    stage_now: Stage, noor: Client
) -> None:
    shared, gone = (
        Pool.objects.create(cluster=stage_now.pool().cluster, name=name) for name in ("shared", "gone")
    )
    pools = [shared.name, gone.name]
    caps = {"max_duration_s": {"standard": 172800.0}, "max_jobs_per_user": {"standard": 7}}
    save(stage_now, peaks=[PEAK], sharing_pools=pools, **caps)
    gone.delete()
    form = form_of(noor.get("/policy/change").text)
    assert (form["grace_s"], form["max_duration_s.standard"], form["peaks[0].gpus"]) == ("2 min", "2 d", "64")
    assert form["sharing_pools"] == ["gone", "shared"]
    assert (form["max_jobs_per_user.standard"], form["move_safety"], form["guard_share"]) == (
        "7",
        "2",
        "0.75",
    )
    assert noor.post("/policy/change", form | {"why": "only looking"})["Location"] == "/policy"
    assert PolicyVersion.objects.count() == 1


def test_everything_that_is_wrong_is_told_at_once_and_by_its_whole_name(
    stage_now: Stage, noor: Client
) -> None:
    form = form_of(noor.get("/policy/change").text)
    typed = {
        "why": "", "min_runtime_s.standard": "20", "grace_s": "2 d", "guard_share": "1.7", "cycle_s": "1 s",
        "peaks[0].gpus": "64", "peaks[0].from_hour": "9", "peaks[0].until_hour": "18", "peaks[0].tiers": ["standard"],
    }  # fmt: skip
    answer = noor.post("/policy/change", form | typed)
    page = answer.text
    assert answer.status_code == 422
    assert "6 things to correct" in page
    for words in (
        "Minimum runtime, standard</a>: Say what 20 counts", "Grace</a>: Write at most 1\u00a0d.",
        "Guarded from this share of that age</a>: 1.7 is not a share between 0 and 1.",
        "Longest pause between rounds</a>: The portal looks every 5 s", "Peak 1, Days</a>: A peak needs this too.",
        "Why</a>: Say why",
    ):  # fmt: skip
        assert words in page, words
    assert not PolicyVersion.objects.exists()


def test_figures_are_changed_by_the_form(stage_now: Stage, noor: Client) -> None:
    stage_now.pool()
    form = form_of(noor.get("/policy/change").text)
    typed = {
        "why": "winter", "half_life_s": "3 days", "max_jobs_per_user.standard": "10", "guard_share": "0.5",
        "production_pools": ["train"], "peaks[0].gpus": "32", "peaks[0].from_hour": "8",
        "peaks[0].until_hour": "20", "peaks[0].tiers": ["standard"], "peaks[0].weekdays": ["0", "6"],
    }  # fmt: skip
    assert noor.post("/policy/change", form | typed)["Location"] == "/policy"
    found = queries.policy_of(queries.in_force())
    assert (found.half_life_s, found.max_jobs_per_user["standard"], found.guard_share) == (259200.0, 10, 0.5)
    assert (found.production_pools, found.peaks) == (("train",), (Peak(8, 20, 32, ("standard",), (0, 6)),))
    form = form_of(noor.get("/policy/change").text)
    assert noor.post("/policy/change", form | {"why": "no more", "peaks[0].gpus": ""}).status_code == 302
    assert queries.policy_of(queries.in_force()).peaks == ()


TYPED = {
    "no reason": ({"why": ""}, "why", "Say why"),
    "a number without its unit": ({"grace_s": "120"}, "grace_s", "Say what 120 counts"),
    "nothing": ({"cycle_s": ""}, "cycle_s", "required"),
    "what only the policy refuses": ({"half_life_s": "0 s"}, "half_life_s", "Must be above 0."),
    "a tier's own field": ({"min_runtime_s.standard": "soon"}, "min_runtime_s.standard", "length of time"),
    "half a peak": ({"peaks[0].gpus": "8"}, "peaks[0].from_hour", "A peak needs this too."),
    "a pool of nobody": ({"sharing_pools": ["moon"]}, "sharing_pools", "moon is not one of"),
}


@pytest.mark.parametrize(("typed", "field", "words"), TYPED.values(), ids=TYPED)
def test_a_form_that_cannot_be_comes_back_with_what_was_typed(
    stage_now: Stage, noor: Client, typed: dict[str, Any], field: str, words: str
) -> None:
    form = form_of(noor.get("/policy/change").text) | {"why": "trying", "grace_s": "4 min"}
    page = noor.post("/policy/change", form | typed)
    assert page.status_code == 422
    error = re.search(rf'id="id_{re.escape(field)}-error">([^<]*)<', page.text)
    assert error is not None
    assert words in error[1]
    assert f'value="{typed.get("grace_s", "4 min")}"' in page.text
    assert not PolicyVersion.objects.exists()


def test_two_administrators_at_once_undo_nothing_of_each_other_unseen(stage_now: Stage, noor: Client) -> None:
    form = form_of(noor.get("/policy/change").text)
    save(stage_now, why="quicker", grace_s=300)
    page = noor.post("/policy/change", form | {"why": "longer memory", "half_life_s": "14 d"})
    assert page.status_code == 422
    assert "Noor Haddad changed the policy meanwhile (version 1: quicker)" in page.text
    again = form_of(page.text)
    assert (again["seen"], again["grace_s"], again["half_life_s"], again["why"]) == (
        "1", "5 min", "14 d", "longer memory",
    )  # fmt: skip
    assert noor.post("/policy/change", again).status_code == 302
    found = queries.policy_of(queries.in_force())
    assert (found.grace_s, found.half_life_s) == (300.0, 1209600.0)


def test_a_version_has_a_page_and_is_restored_with_a_reason(stage_now: Stage, noor: Client) -> None:
    save(stage_now, why="try", grace_s=300)
    page = noor.get("/policy/0").text
    for words in (
        "Berth's defaults",
        'Grace: <span class="muted">5\u00a0min</span> → 2\u00a0min',
        "Restore the defaults",
    ):
        assert words in page
    assert "Say why" in noor.post("/policy/0/restore", {"why": "", "seen": "1"}).text
    assert "changed the policy meanwhile" in noor.post("/policy/0/restore", {"why": "back", "seen": "0"}).text
    assert noor.post("/policy/0/restore", {"why": "back", "seen": "1"})["Location"] == "/policy"
    assert queries.in_force().number == 2
    assert "No difference" in noor.get("/policy/2").text
    for address in ("/policy/3", "/policy/99999999999"):
        assert noor.get(address).status_code == 404


def test_the_page_costs_the_same_for_two_versions_and_for_forty(
    stage_now: Stage, noor: Client, django_assert_num_queries: Callable[..., Any]
) -> None:
    for number in range(2):
        save(stage_now, seen=number, grace_s=60 + number)
    with django_assert_num_queries(9):  # the first version is told by the journal
        noor.get("/policy")
    for number in range(2, 40):
        save(stage_now, seen=number, grace_s=60 + number)
    with django_assert_num_queries(8):
        page = noor.get("/policy").text
    assert page.count('id="version-') == 20
    assert "All 40 versions" in page
    with django_assert_num_queries(9):
        assert noor.get("/policy?history=all").text.count('id="version-') == 40


# ---- The API


def put(caller: Any, body: dict[str, Any]) -> Any:
    return caller.client.put("/api/v1/policy", body, content_type="application/json", headers=caller.headers)


def test_the_api_reads_and_replaces_the_policy(stage_now: Stage) -> None:
    mira, noor = (with_token(stage_now.people[name], stage_now.now) for name in ("mira", "noor"))
    seen = mira.get("/policy").json()
    assert (seen["version"], seen["by"], seen["figures"]) == (0, None, DEFAULTS)
    asked = {"version": 0, "why": "a try", "figures": {"grace_s": 300}}
    assert put(mira, asked).status_code == 403
    body = put(noor, asked).json()
    assert (body["version"], body["by"], body["figures"]["grace_s"]) == (1, "noor@example.org", 300.0)
    assert problem(put(noor, asked))["code"] == "conflict"
    assert put(noor, {"version": 1, "why": "only this", "figures": {"cycle_s": 10}}).json()["figures"] == (
        {**DEFAULTS, "cycle_s": 10.0}
    )
    assert [one["version"] for one in mira.get("/policy/versions").json()] == [2, 1]
    wrong = problem(put(noor, {"version": 2, "why": "so", "figures": {"cycle_s": 0}}))
    assert (wrong["status"], wrong["field"], wrong["detail"]) == (422, "cycle_s", "Must be above 0.")
