"""Whatever the orders and whatever is there: nothing twice, nothing too early, and in the end what was ordered."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler.agent.reconcile import Have, Key, Moves, Want, reconcile
from scheduler.wire import DEFAULT_GRACE_S

GPUS = [f"g{i}" for i in range(4)]
keys = st.tuples(st.integers(1, 6), st.integers(1, 2))
sets = st.frozensets(st.sampled_from(GPUS), min_size=1)
wants = st.builds(Want, stop=st.booleans(), grace_s=st.floats(0, 60), gpus=st.none() | sets)
haves = st.one_of(
    st.builds(Have, live=st.booleans(), gpus=sets, told=st.booleans()), st.just(Have(live=False, gone=True))
)
wanted_sets = st.dictionaries(keys, wants, max_size=6)
present_sets = st.dictionaries(keys, haves, max_size=6)


@given(wanted_sets, present_sets)
def test_only_what_is_ordered_and_not_there_is_fetched_or_launched(
    wanted: dict[Key, Want], present: dict[Key, Have]
) -> None:
    moves = reconcile(wanted, present)
    for key in {*moves.fetch, *moves.launch}:
        assert key not in present
        assert not wanted[key].stop
    assert set(moves.fetch).isdisjoint(moves.launch)


@given(wanted_sets, present_sets)
def test_no_gpu_is_given_to_two(wanted: dict[Key, Want], present: dict[Key, Have]) -> None:
    launched = [gpu for key in reconcile(wanted, present).launch for gpu in wanted[key].gpus or ()]
    busy = [gpu for have in present.values() if have.live for gpu in have.gpus]
    assert len(launched) == len(set(launched))
    assert set(launched).isdisjoint(busy)


@given(wanted_sets, present_sets)
def test_exactly_what_lives_and_is_not_to_run_is_stopped(
    wanted: dict[Key, Want], present: dict[Key, Have]
) -> None:
    to_run = {key for key, want in wanted.items() if not want.stop}
    stops = dict(reconcile(wanted, present).stop)
    assert stops.keys() == {key for key, have in present.items() if have.live} - to_run
    for key, grace_s in stops.items():
        assert grace_s == (wanted[key].grace_s if key in wanted else DEFAULT_GRACE_S)


@given(wanted_sets, present_sets)
def test_only_ended_runs_that_the_portal_knows_of_and_no_longer_lists_are_forgotten(
    wanted: dict[Key, Want], present: dict[Key, Have]
) -> None:
    for key in reconcile(wanted, present).forget:
        assert key not in wanted
        assert present[key].told
        assert not present[key].live


@given(wanted_sets, present_sets)
def test_a_repeated_message_changes_nothing(wanted: dict[Key, Want], present: dict[Key, Have]) -> None:
    assert reconcile(wanted, present) == reconcile(dict(reversed(wanted.items())), present)


@given(wanted_sets, present_sets)
def test_turn_by_turn_the_node_comes_to_run_what_was_ordered(
    wanted: dict[Key, Want], present: dict[Key, Have]
) -> None:
    specs = {key: replace(want, gpus=want.gpus or frozenset({"g0"})) for key, want in wanted.items()}
    for _ in range(4):
        moves = reconcile(specs, present)
        present = _carried_out(moves, specs, present)
    moves = reconcile(specs, present)
    assert (moves.fetch, moves.stop, moves.forget) == ((), (), ())
    live = {key for key, have in present.items() if have.live}
    assert live <= {key for key, want in specs.items() if not want.stop}
    # What still waits does so only because another holds its GPUs.
    for key in moves.launch:
        raise AssertionError(f"{key} could have been launched before")


def _carried_out(moves: Moves, specs: dict[Key, Want], present: dict[Key, Have]) -> dict[Key, Have]:
    """What the ranks, the portal and the next beats would make of it."""
    after = dict(present)
    for key, _ in moves.stop:
        after[key] = replace(after[key], live=False)
    for key in moves.forget:
        after[key] = Have(live=False, gone=True)
    for key in moves.launch:
        after[key] = Have(live=True, gpus=specs[key].gpus or frozenset())
    return {key: replace(have, told=not have.live) for key, have in after.items()}


def test_a_run_that_was_forgotten_is_never_started_again() -> None:
    key = (7, 1)
    moves = reconcile({key: Want(gpus=frozenset({"g0"}))}, {key: Have(live=False, gone=True)})
    assert moves == Moves()


def test_a_new_epoch_waits_until_the_old_one_has_left_its_gpus() -> None:
    gpus = frozenset({"g0"})
    wanted = {(7, 2): Want(gpus=gpus)}
    busy = reconcile(wanted, {(7, 1): Have(live=True, gpus=gpus)})
    assert (busy.launch, busy.stop) == ((), (((7, 1), DEFAULT_GRACE_S),))
    assert reconcile(wanted, {(7, 1): Have(live=False, gpus=gpus)}).launch == ((7, 2),)
