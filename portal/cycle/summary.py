"""The policy in a few sentences, with the figures that are in force."""

from math import inf

from portal.cycle.figures import length
from scheduler.core.policy import Policy


def rules(policy: Policy) -> list[tuple[str, str]]:
    """What decides who runs, each rule under its name."""
    return [
        ("Tiers", "Production goes before standard, and standard before opportunistic. " + _bound(policy)),
        ("Order", "Inside a tier, teams inside their own quota go before those that borrow; then whoever used "
                  "least of their share, team by team and person by person. "
                  f"Use counts half as much after {length(policy.half_life_s)}."),
        ("Quota", "What a team owns and leaves idle is lent, and comes back when the team asks for it, "
                  f"within {length(policy.return_promise_s)}."),
        ("Gangs", "A job gets all its GPUs at once or none, in the smallest place that holds it: "
                  "one node, one rack, one block."),
        ("Filling in", f"The first {policy.reservation_depth:,} jobs have a planned place and time. Others may "
                       "slip in where they delay none of these; who does so without a time limit may be called back."),
        ("Age", f"Age does not sort. After {length(policy.protect_after_s)} it earns a protected reservation, "
                "and younger work of its tier makes way for it; "
                f"who was stopped for others earns one again {length(policy.protect_again_s)} later. "
                "Work without a limit may be called back earlier, when those who wait gain more than it loses."),
        ("Stopping", _stopping(policy)),
        ("Whom", "In another team only opportunistic work and work above that team's own quota may be stopped; "
                 "inside a team any lower tier. Always whole jobs, those that lose least, and never more than "
                 "are needed. Each gets a receipt on its page."),
    ]  # fmt: skip


def _bound(policy: Policy) -> str:
    """How long production waits at most, as far as stopping others can make room."""
    slowest = max(policy.min_runtime_s["standard"], policy.min_runtime_s["opportunistic"])
    wait = slowest + policy.grace_s + policy.cycle_s
    if wait == inf:
        return ""
    return (
        "Production inside its team's own quota, on at most one node or on whole nodes, starts within "
        f"{length(wait)}, as long as enough of what others run there may be stopped."
    )


def _stopping(policy: Policy) -> str:
    least = policy.min_runtime_s
    return (
        f"Work is stopped for others only after its minimum runtime (standard {length(least['standard'])}, "
        f"opportunistic {length(least['opportunistic'])}), at most {policy.max_preemptions_per_day} times a day "
        f"for one job and {policy.max_user_stops_per_day} for one person, unless a team's promise would break. "
        f"It is asked first and has {length(policy.grace_s)} to save its work."
    )
