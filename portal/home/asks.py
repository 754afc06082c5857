"""What needs a person, one ask each: a state, a thing, a sentence, and the page where to act."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from portal import words
from portal.cluster.models import Node
from portal.jobs.models import Job, Run

SPELLED = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


@dataclass(frozen=True, slots=True)
class Ask:
    """One line of the list; state is one of the words that badges know."""

    key: str
    state: str
    word: str
    title: str
    address: str
    text: str
    action: str = ""
    action_address: str = ""


def headline(number: int) -> str:
    """Three things need you."""
    spelled = SPELLED[number] if number < len(SPELLED) else words.count(number)
    return f"{spelled} thing{' needs' if number == 1 else 's need'} you"


def of_nodes(nodes: Iterable[Node], *, now: datetime) -> list[Ask]:
    """The most urgent cause of each node; its page tells the others."""
    return [_of_node(node, now) for node in nodes]


def _of_node(node: Node, now: datetime) -> Ask:
    look, word, text, action = _trouble(node, node.state(now))
    address = reverse("node-approve", args=[node.name]) if action else ""
    page = reverse("node", args=[node.name])
    return Ask(f"node-{node.pk}", look, word, node.name, page, text, action, address)


def _trouble(node: Node, state: Node.State) -> tuple[str, str, str, str]:
    """(state for the badge, its word, sentence, what an administrator can do about it)."""
    if state == Node.State.PENDING:
        gpus = words.many(len(node.hardware_reported.get("gpus", [])), "GPU")
        return "pending", "New node", f"Wants to join with {gpus}.", "Look and approve"
    if state == Node.State.LOST:
        return "lost", "Lost", "Its jobs moved on. It comes back by itself when it beats again.", ""
    if node.hardware_changed:
        return "pending", "Changed", "Reports other hardware than was approved.", "Compare"
    if trespass := node.latest.get("trespass"):
        seen = words.many(len(trespass), "process", "processes")
        return "pending", "Trespass", f"{seen} on GPUs outside any hold.", ""
    if state == Node.State.SILENT:
        return "silent", "Silent", "Nothing new starts there until it is heard again.", ""
    findings = "; ".join(str(finding) for finding in node.latest.get("findings", []))
    return "pending", "Finding", findings or "Drained, and silent since.", ""


def of_failures(jobs: Iterable[Job]) -> list[Ask]:
    """Jobs that failed and were not tried again."""
    return [
        Ask(
            f"job-{job.pk}", "failed", "Failed", f"{job.pk} {job.name}", reverse("job", args=[job.pk]),
            _cause(job), "Clone", f"{reverse('submit')}?clone={job.pk}",
        )
        for job in jobs
    ]  # fmt: skip


def _cause(job: Job) -> str:
    """Why the newest run ended: the limit, the first rank that went wrong, or what an agent said."""
    run = next(iter(job.runs.all()), None)
    if run is None:
        return "It never ran."
    if run.cause == Run.Cause.LIMIT:
        return f"Reached its time limit of {words.duration(job.limit_s)}."
    said = next((seat.error for seat in run.seats.all() if seat.error), "")
    rank = next(iter(run.ranks.all()), None)
    if rank is None:
        return said or f"{run.get_cause_display()}."
    how = f"was ended by signal {rank.signal}" if rank.signal else f"ended with exit code {rank.exit_code}"
    return f"Rank {rank.rank} {how} first."
