"""One run from orders to its end, through a real worker, a real broker and real processes."""

from tests.agent.agents import AgentProcess, eventually, is_in, order, run_in, spec
from tests.agent.portal_double import PortalDouble


def test_a_run_starts_writes_its_log_and_ends_with_its_exit_codes(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    text = spec(agent, 7, "echo hello from $RANK; sleep 0.3; exit $((RANK * 3))", gpus=2)
    portal.want(order(portal, text))

    portal.heard(is_in(7, "running"))
    beat = portal.heard(is_in(7, "ended"))

    seen = run_in(beat, 7)
    assert seen is not None
    assert [(r.rank, r.state, r.exit, r.signal) for r in seen.ranks] == [
        (0, "ended", 0, None),
        (1, "ended", 3, None),
    ]
    assert seen.error is None
    eventually(lambda: portal.log(7, 0) == b"hello from 0\n" and portal.log(7, 1) == b"hello from 1\n")

    portal.want()
    eventually(lambda: not agent.run_dir(7).exists())
    portal.heard(lambda beat: not beat.runs)
