"""The map, its table twin, the page of a node, and what administrators do there."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team
from portal.agents.models import Listening, Refusal
from portal.cluster.models import Gpu, Node
from portal.jobs.models import Job
from portal.journal.models import Entry
from portal.telemetry.models import Reading
from scheduler.wire import digest
from tests.portal.conftest import counted
from tests.portal.stage import Stage, hardware

SignIn = Callable[..., Client]
HOSTILE = "<script>alert(1)</script>'\"&"


@pytest.fixture
def cluster(stage_now: Stage) -> Stage:
    """Two racks of two nodes."""
    stage_now.add_nodes("n1", "n2", rack="A1")
    stage_now.add_nodes("n3", "n4", rack="A2")
    Team.objects.filter(name="vision").update(kind=1)
    Team.objects.filter(name="language").update(kind=2)
    return stage_now


def joining(stage: Stage, name: str = "n9") -> Node:
    """A node that nobody has approved."""
    return Node.objects.create(
        pool=stage.pool(), name=name, address="10.0.0.9", gpu_type="unknown", claim_digest="0" * 64,
        hardware_reported=hardware(name, rack="A3"),
    )  # fmt: skip


def cells(page: str, node: str) -> list[str]:
    """The classes of the cells of one node on the map."""
    pk = Node.objects.get(name=node).pk
    inside = page.split(f'id="node-{pk}"')[1].split("</a>")[0]
    return re.findall(r'<i class="gpu ([^"]*)"', inside)


# ---- The map


def test_every_gpu_is_a_cell_that_says_who_holds_it(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("pretrain", gpus_per_node=4)
    run = cluster.running(job)
    (node,) = cluster.where(run)
    page = signed_in(cluster.people["mira"]).get("/cluster").text
    first, *joined = cells(page, node)[:4]
    assert first == "is-running k1 is-mine"
    assert joined == ["is-running k1 joins is-mine"] * 3
    assert cells(page, node)[4:] == ["is-free"] * 4
    assert "4 free" in page
    assert "vision 4</li>" in page


def test_the_underline_is_only_for_ones_own_jobs(cluster: Stage, signed_in: SignIn) -> None:
    (node,) = cluster.where(cluster.running(cluster.submit(gpus_per_node=2)))
    page = signed_in(cluster.people["ravi"]).get("/cluster").text
    assert cells(page, node)[:2] == ["is-running k1", "is-running k1 joins"]


def test_the_map_can_be_coloured_by_state(cluster: Stage, signed_in: SignIn) -> None:
    starting = cluster.submit(gpus_per_node=8)
    (node,) = cluster.where(cluster.started(starting))
    page = signed_in(cluster.people["omar"]).get("/cluster?colour=state").text
    assert set(cells(page, node)) == {"is-starting", "is-starting joins"}
    assert "starting 8</li>" in page


def test_what_is_not_in_service_looks_so_and_counts_so(cluster: Stage, signed_in: SignIn) -> None:
    noor = cluster.people["noor"]
    Node.objects.filter(name="n2").update(last_seen_at=cluster.now - timedelta(seconds=40))
    Node.objects.filter(name="n3").update(drained_at=cluster.now, drain_reason="loud fan", drained_by=noor)
    Node.objects.filter(name="n4").update(lost_at=cluster.now)
    page = signed_in(cluster.people["mira"]).get("/cluster").text
    looks = {name: set(cells(page, name)) for name in ("n1", "n2", "n3", "n4")}
    assert looks == {"n1": {"is-free"}, "n2": {"is-unknown"}, "n3": {"is-drained"}, "n4": {"is-failed"}}
    assert "n4 lost, n2 silent, n3 drained" in page
    tiles = re.findall(r'class="tile-value">(\d+)', page)
    assert tiles[:3] == ["0", "8", "24"]


def test_a_job_on_a_draining_node_is_still_seen(cluster: Stage, signed_in: SignIn) -> None:
    (node,) = cluster.where(cluster.running(cluster.submit(gpus_per_node=2)))
    signed_in(cluster.people["noor"]).post(f"/cluster/{node}/drain", {"reason": "loud fan"})
    page = signed_in(cluster.people["mira"]).get("/cluster").text
    assert cells(page, node)[0].startswith("is-running")
    assert set(cells(page, node)[2:]) == {"is-drained"}
    assert "draining" in page


def test_the_table_says_the_same_as_the_map(cluster: Stage, signed_in: SignIn) -> None:
    cluster.running(cluster.submit(gpus_per_node=8))
    client = signed_in(cluster.people["mira"])
    both = [client.get(address).text for address in ("/cluster", "/cluster?view=table")]
    assert [re.findall(r'class="tile-value">(\d+)', page)[:3] for page in both] == [["8", "24", "0"]] * 2
    assert all('href="?view=table"' in page and ">Map</a>" in page for page in both)
    assert both[1].count("<tr id=") == 4
    assert "With free GPUs <span>3</span>" in both[1]
    assert client.get("/cluster?view=table&show=free").text.count("<tr id=") == 3
    assert "No node is like that" in client.get("/cluster?view=table&show=look").text


def test_an_empty_cluster_says_what_to_do(stage_now: Stage, signed_in: SignIn) -> None:
    page = signed_in(stage_now.people["mira"]).get("/cluster").text
    assert "No node has joined yet" in page
    assert "not hearing" not in page


def test_nonsense_in_the_address_shows_the_usual_map(cluster: Stage, signed_in: SignIn) -> None:
    page = signed_in(cluster.people["mira"]).get(f"/cluster?view={HOSTILE}&colour=puce&show=none")
    assert page.status_code == 200
    assert "<script>alert" not in page.text


# ---- What everybody must know first


def test_nodes_without_isolation_are_named_in_one_line(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"])
    assert "not isolated" not in client.get("/cluster").text
    Node.objects.filter(name="n2").update(isolated=False)
    assert "Jobs are not isolated from each other on n2" in client.get("/cluster").text
    Node.objects.update(isolated=False)
    assert "on any node" in client.get("/cluster").text


def test_many_silent_nodes_are_not_declared_lost_and_the_page_says_so(
    cluster: Stage, signed_in: SignIn
) -> None:
    client = signed_in(cluster.people["mira"])
    Node.objects.filter(name__in=["n1", "n2", "n3"]).update(last_seen_at=cluster.now - timedelta(minutes=5))
    assert "fell silent together" not in client.get("/cluster").text
    Node.objects.update(last_seen_at=cluster.now - timedelta(minutes=5))
    page = client.get("/cluster").text
    assert "4\u00a0nodes of main fell silent together" in page
    assert "nobody is declared lost until beats return" in page


def test_a_portal_that_hears_nobody_says_so(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"])
    assert "not hearing its agents" not in client.get("/cluster").text
    Listening.objects.update(until=cluster.now - timedelta(minutes=1))
    assert "Berth itself is not hearing its agents" in client.get("/cluster").text


# ---- Live


def poll(client: Client, address: str, seen: str = "") -> object:
    return client.get(address, headers={"HX-Request": "true", "Berth-Digest": seen})


@pytest.mark.parametrize("address", ["/cluster", "/cluster?view=table", "/cluster/n1"])
def test_a_poll_brings_a_fragment_once_and_then_nothing(
    cluster: Stage, signed_in: SignIn, address: str
) -> None:
    client = signed_in(cluster.people["mira"])
    first = poll(client, address)
    assert first.status_code == 200
    assert "<html" not in first.text
    assert "data-live" in first.text
    assert poll(client, address, first["Berth-Digest"]).status_code == 204
    Node.objects.filter(name="n1").update(lost_at=cluster.now)
    assert poll(client, address, first["Berth-Digest"]).status_code == 200


# ---- Cost


@pytest.mark.parametrize("address", ["/cluster", "/cluster?view=table"])
def test_the_cluster_costs_the_same_for_two_nodes_and_for_forty(
    stage_now: Stage, signed_in: SignIn, address: str
) -> None:
    client = signed_in(stage_now.people["noor"])
    stage_now.add_nodes("n1", "n2")
    joining(stage_now, "p1")
    stage_now.running(stage_now.submit(gpus_per_node=8))
    with counted() as few:
        client.get(address)
    stage_now.add_nodes(*[f"m{i}" for i in range(38)], rack="A7")
    for i in range(5):
        joining(stage_now, f"q{i}")
        stage_now.running(stage_now.submit(gpus_per_node=8, by="omar", team="language"))
    with counted() as many:
        page = client.get(address).text
    assert (len(few), len(many)) == (13, 13), told(many)
    assert "40\u00a0nodes" in page


def test_the_node_page_costs_the_same_for_one_job_and_for_eight(stage_now: Stage, signed_in: SignIn) -> None:
    client = signed_in(stage_now.people["noor"])
    stage_now.add_nodes("n1")
    stage_now.running(stage_now.submit())
    with counted() as few:
        client.get("/cluster/n1")
    for _ in range(7):
        stage_now.running(stage_now.submit(by="omar", team="language"))
    with counted() as many:
        client.get("/cluster/n1")
    assert (len(few), len(many)) == (13, 13), told(many)


def told(queries: CaptureQueriesContext) -> str:
    return "\n".join(query["sql"][:200] for query in queries.captured_queries)


# ---- One node


def test_the_node_page_names_only_the_jobs_one_may_see(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("secret-plan", gpus_per_node=3, tier="production")
    (node,) = cluster.where(cluster.running(job))
    address = f"/cluster/{node}"
    for who, named in (("mira", True), ("rhea", True), ("noor", True), ("ines", True), ("omar", False)):
        page = signed_in(cluster.people[who]).get(address).text
        assert ("secret-plan" in page) is named, who
        assert (f'href="/jobs/{job.pk}"' in page) is named, who
    assert "vision" in page
    assert "3\u00a0GPUs, production" in page


def test_readings_are_shown_with_their_units_and_unknown_ones_stay_empty(
    cluster: Stage, signed_in: SignIn
) -> None:
    node = Node.objects.get(name="n1")
    node.latest["gpus"][0] |= {"util": 93.4, "memory_used_mib": 72_704, "temp_c": 64.0, "power_w": 612.0}
    node.latest["gpus"][1] |= {"util": None, "memory_used_mib": None, "temp_c": None, "power_w": None}
    node.save()
    rows = signed_in(cluster.people["mira"]).get("/cluster/n1").text.split("<tr id=")[1:3]
    for value in ("93\u00a0%", "71\u00a0GB", "64\u00a0°C", "612\u00a0W"):
        assert value in rows[0]
    values = re.findall(r"<span>([^<]*)</span>", rows[1])
    assert values == ["", "", "", ""]


def test_late_readings_are_marked_late(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"])
    assert "stale" not in client.get("/cluster/n1").text
    Node.objects.filter(name="n1").update(last_seen_at=cluster.now - timedelta(seconds=90))
    page = client.get("/cluster/n1").text
    assert '<span class="stale">50\u00a0%</span>' in page
    assert re.search(r"late: as of <time [^>]*>1\u00a0min ago", page)
    assert "Silent for" in page


def test_the_last_hour_has_gaps_where_nothing_was_read(cluster: Stage, signed_in: SignIn) -> None:
    gpu = Gpu.objects.get(node__name="n1", slot=0)
    Reading.objects.all().delete()
    Reading.objects.bulk_create(
        Reading(gpu=gpu, at=cluster.now - timedelta(seconds=30 * steps), util=40 + steps, power_w=700)
        for steps in [1, 2, 3, 20, 21]
    )
    client = signed_in(cluster.people["mira"])
    page = client.get("/cluster/n1").text
    figure = page.split('id="chart-0"')[1].split("</figure>")[0]
    assert "GPU 0: activity over the last hour from 41\u00a0% to 61\u00a0%, at last 41\u00a0%" in figure
    line = re.search(r'class="line" d="([^"]*)"', figure)
    assert line
    assert line[1].count("M") == 2
    assert "50\u00a0%" in figure  # the newest beat's own word
    assert "no activity readings in the last hour" in page.split('id="chart-1"')[1]
    table = client.get("/cluster/n1?measure=power&readings=table").text
    assert "Power, last hour" in table
    assert "700\u00a0W" in table


def test_trespass_findings_refusals_and_events_are_told_as_text(cluster: Stage, signed_in: SignIn) -> None:
    node = Node.objects.get(name="n1")
    uuid = node.gpus.get(slot=2).uuid
    node.latest |= {"trespass": [{"uuid": uuid, "pid": 4123, "name": HOSTILE}], "findings": [HOSTILE]}
    node.save()
    minute = cluster.now.replace(second=0, microsecond=0)
    Refusal.objects.create(node_name="n1", code="replayed", minute=minute, count=14, sentence=HOSTILE)
    Entry.objects.create(at=cluster.now, verb="x", kind="node", subject=node.pk, sentence=HOSTILE)
    for who in ("mira", "noor"):
        for address in ("/cluster/n1", "/cluster?view=table", "/"):
            page = signed_in(cluster.people[who]).get(address).text
            assert "<script>alert" not in page
    page = signed_in(cluster.people["mira"]).get("/cluster/n1").text
    assert "GPU 2: process 4123, &lt;script&gt;" in page
    assert "14 × replayed" in page


def test_an_unknown_node_is_not_found(cluster: Stage, signed_in: SignIn) -> None:
    assert signed_in(cluster.people["mira"]).get("/cluster/n99").status_code == 404


# ---- What administrators do


@pytest.mark.parametrize("who", ["mira", "yuki", "ines"])
@pytest.mark.parametrize("what", ["drain", "resume", "approve"])
def test_only_administrators_change_nodes(cluster: Stage, signed_in: SignIn, who: str, what: str) -> None:
    client = signed_in(cluster.people[who])
    assert client.post(f"/cluster/n1/{what}", {"reason": "x"}).status_code == 403
    assert f"/cluster/n1/{what}" not in client.get("/cluster/n1").text
    assert Node.objects.get(name="n1").drained_at is None


def test_draining_takes_a_reason_that_everybody_then_reads(cluster: Stage, signed_in: SignIn) -> None:
    noor, mira = signed_in(cluster.people["noor"]), signed_in(cluster.people["mira"])
    (node,) = cluster.where(cluster.running(cluster.submit("pretrain", gpus_per_node=2)))
    asked = noor.get(f"/cluster/{node}/drain").text
    assert "1\u00a0job there may finish" in asked
    assert "pretrain" in asked
    assert "Say why" in noor.post(f"/cluster/{node}/drain", {"reason": "  "}).text
    assert noor.post(f"/cluster/{node}/drain", {"reason": HOSTILE})["Location"] == f"/cluster/{node}"
    page = mira.get(f"/cluster/{node}").text
    assert "Drained by Noor Haddad" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_resuming_brings_it_back(cluster: Stage, signed_in: SignIn) -> None:
    noor = signed_in(cluster.people["noor"])
    noor.post("/cluster/n1/drain", {"reason": "loud fan"})
    assert "It was drained for: loud fan" in noor.get("/cluster/n1/resume").text
    assert 'action="/cluster/n1/resume"' in noor.get("/cluster/n1").text
    noor.post("/cluster/n1/resume")
    assert Node.objects.get(name="n1").drained_at is None
    assert [entry.verb for entry in Entry.objects.filter(kind="node")[:2]] == ["resumed", "drained"]


def test_a_node_that_joined_waits_where_administrators_see_it(cluster: Stage, signed_in: SignIn) -> None:
    node = joining(cluster)
    for who, seen in (("noor", True), ("mira", False)):
        page = signed_in(cluster.people[who]).get("/cluster").text
        assert ("Nodes awaiting approval" in page) is seen
        assert ("8\u00a0×\u00a0H100 (80\u00a0GB), 96\u00a0CPUs" in page) is seen
    assert "It waits for an administrator" in signed_in(cluster.people["mira"]).get("/cluster/n9").text
    noor = signed_in(cluster.people["noor"])
    assert "Approve n9?" in noor.get("/cluster/n9/approve").text
    noor.post("/cluster/n9/approve", {"shown": digest(node.hardware_reported)})
    node.refresh_from_db()
    assert node.approved_by == cluster.people["noor"]
    assert node.gpus.count() == 8


def test_nobody_approves_what_they_have_not_seen(cluster: Stage, signed_in: SignIn) -> None:
    node = joining(cluster)
    shown = digest(node.hardware_reported)
    Node.objects.filter(pk=node.pk).update(hardware_reported=hardware("n9", gpus=2))
    noor = signed_in(cluster.people["noor"])
    for sent in ({"shown": shown}, {}):
        assert noor.post("/cluster/n9/approve", sent).status_code == 409
    node.refresh_from_db()
    assert node.approved_at is None


def test_changed_hardware_is_compared_before_it_is_accepted(cluster: Stage, signed_in: SignIn) -> None:
    changed = hardware("n1", rack="A1")
    changed["gpus"] = changed["gpus"][:7]
    Node.objects.filter(name="n1").update(hardware_reported=changed, hardware_seen=digest(changed))
    noor, mira = signed_in(cluster.people["noor"]), signed_in(cluster.people["mira"])
    assert "reports other hardware than was approved" in mira.get("/cluster/n1").text
    page = noor.get("/cluster/n1/approve").text
    assert "Accept what n1 has now?" in page
    assert "gone: GPU 7: NVIDIA H100" in page
    assert "yet other hardware" not in page
    noor.post("/cluster/n1/approve", {"shown": digest(changed)})
    assert Gpu.objects.filter(node__name="n1", retired_at=None).count() == 7
    assert "other hardware" not in mira.get("/cluster/n1").text


def test_a_refused_approval_comes_back_as_a_sentence(cluster: Stage, signed_in: SignIn) -> None:
    node = joining(cluster)
    stolen = hardware("n1", rack="A3")
    Node.objects.filter(pk=node.pk).update(hardware_reported=stolen)
    noor = signed_in(cluster.people["noor"])
    came_from = "http://testserver/cluster"
    answer = noor.post("/cluster/n9/approve", {"shown": digest(stolen)}, headers={"Referer": came_from})
    assert answer["Location"] == came_from
    assert "n9 reports GPU-n1-0, which is GPU 0 of n1." in noor.get("/cluster").text


def test_two_jobs_of_a_foreign_team_are_two_joins_and_no_names(cluster: Stage, signed_in: SignIn) -> None:
    for _ in range(2):
        cluster.running(cluster.submit("theirs", gpus_per_node=4, by="omar", team="language"))
    page = signed_in(cluster.people["mira"]).get("/cluster").text
    (node,) = {name for job in Job.objects.all() for name in cluster.where(cluster.live_run(job))}
    theirs = ["is-running k2", *["is-running k2 joins"] * 3]
    assert cells(page, node) == [*theirs, *theirs]
    assert "theirs" not in page
