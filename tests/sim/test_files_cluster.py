"""CLUSTER.json, FAULTS.csv and POLICY.json: what they mean, and the sentence for every way to get them wrong."""

import gzip
import pickle

import pytest

from scheduler.core.policy import Policy
from scheduler.sim.files import BadFile, decoded, read_cluster, read_faults, read_policy
from scheduler.sim.workload import Cluster, Crew, Fault, Machine, Share

NODE = '{"name": "n1", "gpu_type": "A100", "gpus": 8}'
SITE = Cluster((Machine("n1", gpus=8), Machine("n2", gpus=4)))


def cluster(node: str = NODE, teams: str = "") -> str:
    return f'{{"nodes": [\n  {node}]{teams and ","}\n  {teams}}}'


def test_the_example_of_the_contract_is_read() -> None:
    text = """{"nodes": [{"name": "n001", "pool": "train", "gpu_type": "A100", "gpus": 8,
                "nvlink_domain": 8, "rack": "r01", "block": "b1",
                "cpus": 96, "memory_gib": 1024, "spot": false}],
     "teams": [{"name": "vision", "parent": null, "weight": 1.0,
                "quota": {"A100": {"nominal": 64, "borrow": 32, "lend": 64}}}]}"""
    machine = Machine("n001", "train", "A100", 8, 8, "r01", "b1", 96.0, 1024.0, False)
    assert read_cluster(text, "C.json") == Cluster(
        (machine,), (Crew("vision", None, 1.0, {"A100": Share(64, 32, 64)}),)
    )


def test_what_is_missing_means_the_default() -> None:
    [machine] = read_cluster(cluster(), "C.json").machines
    assert machine == Machine("n1", "default", "A100", 8, 8, "", "", None, None, False, None, frozenset())


def test_missing_teams_are_not_an_empty_list_of_teams() -> None:
    assert read_cluster(cluster(), "C.json").crews is None
    assert read_cluster(cluster(teams='"teams": []'), "C.json").crews == ()


def test_limits_of_a_quota_that_are_missing_are_no_limits() -> None:
    text = cluster(teams='"teams": [{"name": "a", "quota": {"A100": {"nominal": 0, "lend": null}}}]')
    assert read_cluster(text, "C.json").crews == (Crew("a", None, 1.0, {"A100": Share(0, None, None)}),)


def test_fields_that_are_not_known_are_ignored() -> None:
    node = '{"name": "n1", "gpu_type": "A100", "gpus": 8, "watts": [1, {"x": NaN}], "features": ["ib"]}'
    assert read_cluster(cluster(node), "C.json").machines[0].features == {"ib"}


def test_a_domain_that_does_not_divide_the_node_leaves_a_shorter_one() -> None:
    assert Machine("n", gpus=8, nvlink_domain=3).nvlink == (0, 0, 0, 1, 1, 1, 2, 2)


def _with(field: str) -> str:
    return f'{{"name": "n1", "gpu_type": "A100", "gpus": 8, {field}}}'


WRONG_CLUSTER = {
    "[]": (1, 1, "a list is not an object; write {...}"),
    "{}": (1, 1, "nodes is missing here; add it"),
    '{"nodes": 5}': (1, 11, "5 is not a list; write [...]"),
    '{"nodes": []}': (1, 11, "the list is empty; a replay needs at least one node"),
    cluster("7"): (2, 3, "7 is not an object; write {...}"),
    cluster('{"gpus": 8}'): (2, 3, "name is missing here; add it"),
    cluster('{"name": "a", "gpus": 8}'): (2, 3, "gpu_type is missing here; add it"),
    cluster('{"name": "a", "gpu_type": "A", "gpus": null}'): (2, 42, "gpus is missing here; add it"),
    cluster('{"name": 7, "gpu_type": "A", "gpus": 1}'): (2, 12, "7 is not a text; write it in double quotes"),
    cluster('{"name": " ", "gpu_type": "A", "gpus": 1}'): (2, 12, "' ' is no name; write one that can be printed"),
    cluster('{"name": "a", "gpu_type": "A", "gpus": "8"}'): (
        *(2, 42, "'8' is not a number; write digits without quotes"),
    ),
    cluster('{"name": "a", "gpu_type": "A", "gpus": true}'): (
        *(2, 42, "true is not a number; write digits without quotes"),
    ),
    cluster('{"name": "a", "gpu_type": "A", "gpus": 2.5}'): (2, 42, "2.5 is not a whole number; write one such as 8"),
    cluster('{"name": "a", "gpu_type": "A", "gpus": -8}'): (2, 42, "-8 is negative; write 0 or more"),
    cluster('{"name": "a", "gpu_type": "A", "gpus": 0}'): (2, 42, "0 is too small; write 1 or more"),
    cluster('{"name": "a", "gpu_type": "A", "gpus": 9999}'): (
        *(2, 42, "9999 GPUs in one node are too many; the most is 4096"),
    ),
    cluster('{"name": "a", "gpu_type": "A|B", "gpus": 8}'): (
        *(2, 29, "A|B has a | in it, which separates types in the jobs file; take it out"),
    ),
    cluster(_with('"cpus": Infinity')): (2, 57, "Infinity is not a finite number; no limit is null, or leaving it out"),
    cluster(_with('"cpus": 1e10')): (2, 57, "10000000000.0 is too large; the most is 1,000,000,000"),
    cluster(_with('"spot": 1')): (2, 57, "1 is neither true nor false; write one of them without quotes"),
    cluster(_with('"features": ["ib", 3]')): (2, 68, "3 is not a text; write it in double quotes"),
    cluster(_with('"gpus": 4')): (2, 57, "gpus stands twice in the same braces; take one of them out"),
    cluster(f"{NODE},\n  {NODE}"): (3, 12, "n1 is already the name of number 1 of nodes; give each its own"),
    cluster(teams='"teams": {}'): (3, 12, "an object is not a list; write [...]"),
    cluster(teams='"teams": [{"name": "a", "weight": -1}]'): (3, 37, "-1 is negative; write 0 or more"),
    cluster(teams='"teams": [{"name": "a", "parent": "b"}]'): (
        *(3, 37, "there is no team b; name a team of this file, or null for the top"),
    ),
    cluster(teams='"teams": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]'): (
        *(3, 37, "these teams stand above each other: a -> b -> a; break the circle"),
    ),
    cluster(teams='"teams": [{"name": "a"}, {"name": "a"}]'): (
        *(3, 37, "a is already the name of number 1 of teams; give each its own"),
    ),
    cluster(teams='"teams": [{"name": "a", "quota": {"A100": {"borrow": 1}}}]'): (
        *(3, 45, "nominal is missing here; add it"),
    ),
    cluster(teams='"teams": [{"name": "a", "quota": {"A100": {"nominal": 1.5}}}]'): (
        *(3, 57, "1.5 is not a whole number; write one such as 8"),
    ),
    '{"nodes": [\n  {"name": "a",}]}': (
        *(2, 16, "this is not JSON (Expecting property name enclosed in double quotes); mend it here or just before"),
    ),
    '{"nodes": ' + "[" * 100_000: (1, 1, "the values are nested too deeply; this is not a file of a replay"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG_CLUSTER.items(), ids=lambda value: str(value)[:60])
def test_a_wrong_cluster_is_refused_where_it_is_wrong(text: str, told: tuple[int, int, str]) -> None:
    with pytest.raises(BadFile) as caught:
        read_cluster(text, "C.json")
    assert (caught.value.line, caught.value.column, caught.value.sentence) == told


def test_places_are_counted_the_same_with_windows_line_ends() -> None:
    with pytest.raises(BadFile) as caught:
        read_cluster("\ufeff" + cluster(_with('"spot": 1')).replace("\n", "\r\n"), "C.json")
    assert (caught.value.line, caught.value.column) == (2, 57)


def test_faults_come_in_order_of_time_and_those_of_one_moment_in_order_of_the_file() -> None:
    text = "t_s,node,event,gpus\n9,n1,up,\n5,n2,down,3|1|1\n5,n2,up\n0,n1,drain,\n"
    assert read_faults(text, "F.csv", SITE) == (
        Fault(0.0, "n1", "drain", None, 5),
        Fault(5.0, "n2", "down", (1, 3), 3),
        Fault(5.0, "n2", "up", None, 4),
        Fault(9.0, "n1", "up", None, 2),
    )


@pytest.mark.parametrize(
    ("row", "column", "sentence"),
    [
        ("-1,n1,down", "t_s", "'-1' is negative; write 0 or more"),
        ("1,n3,down", "node", "the cluster has no node n3; write a name from the cluster file"),
        ("1,n1,broken", "event", "'broken' is no event; write down, up or drain"),
        ("1,n1", "event", "the cell is blank, and it has no default; fill it in"),
        ("1,n2,down,4", "gpus", "n2 has no GPU 4; its indices go from 0 to 3"),
        ("1,n2,down,1;2", "gpus", "'1;2' is not a number; write digits such as 3600 or 0.5"),
    ],
)
def test_a_wrong_fault_is_refused_where_it_is_wrong(row: str, column: str, sentence: str) -> None:
    with pytest.raises(BadFile) as caught:
        read_faults(f"t_s,node,event,gpus\n0,n1,down,0\n{row}\n", "F.csv", SITE)
    assert (caught.value.line, caught.value.column, caught.value.sentence) == (3, column, sentence)


def test_an_empty_policy_is_the_default_and_a_name_selects_a_reference() -> None:
    assert read_policy("{}", "P.json") == Policy()
    assert read_policy('{"name": "easy"}', "P.json").name == "easy"


def test_a_whole_number_may_have_a_point_as_other_programs_write_it() -> None:
    peaks = '[{"from_hour": 9.0, "until_hour": 17, "gpus": 64.0}]'
    read = read_policy(f'{{"reservation_depth": 4.0, "grace_s": 30, "peaks": {peaks}}}', "P.json")
    assert (read.reservation_depth, read.grace_s, read.peaks[0].gpus) == (4, 30.0, 64)


@pytest.mark.parametrize(
    ("text", "place", "start"),
    [
        ('{\n "name": "sjf"}', (2, 10), "name: 'sjf' is no policy"),
        ('{\n "garce_s": 5}', (2, 13), "garce_s: there is no such field"),
        ('{"min_runtime_s":\n {"standard": -1}}', (2, 15), "min_runtime_s.standard: -1 is not a number"),
        ('{"min_runtime_s":\n -1}', (2, 2), "min_runtime_s"),
        ('{"peaks": [{"from_hour": 1, "until_hour": 2,\n "gpus": -1}]}', (2, 10), "peaks[0].gpus: -1"),
        ('{"min_runtime_s": {"standard": 1,\n "standard": 2}}', (2, 14), "standard stands twice"),
        ("[]", (1, 1), "a list is not an object"),
        ('{"cycle_s":\n 0.5}', (2, 2), "cycle_s: must be at least 1"),
        ('{"reservation_depth": 2.5}', (1, 23), "reservation_depth: 2.5 is not a whole number"),
        ('{"peaks": ' + "[" * 900 + "]" * 900 + "}", (1, 12), "peaks[0]"),
    ],
)
def test_a_wrong_policy_is_refused_where_it_is_wrong(text: str, place: tuple[int, int], start: str) -> None:
    with pytest.raises(BadFile) as caught:
        read_policy(text, "P.json")
    assert caught.value.sentence.startswith(start)
    assert (caught.value.line, caught.value.column) == place


def test_bytes_that_are_no_text_are_refused_with_their_place() -> None:
    assert decoded(gzip.compress(b"a,b\n"), "J.csv.gz") == "a,b\n"
    for raw, place in ((b"job\n\xe9t\xe9", (2, 1)), (b"job\nt\xff", (2, 2)), (b"\x1f\x8bnothing", (1, 1))):
        with pytest.raises(BadFile) as caught:
            decoded(raw, "J.csv")
        assert (caught.value.line, caught.value.column) == place


def test_a_refusal_survives_being_sent_to_another_process() -> None:
    bad = BadFile("J.csv", 3, "gpus", "no")
    assert str(pickle.loads(pickle.dumps(bad))) == str(bad) == "J.csv, line 3, column gpus: no"
