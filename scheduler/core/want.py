"""What somebody looks a place for: a request with all that decides where it may go."""

from dataclasses import dataclass, field, replace

from scheduler.core.board import Board, Placement
from scheduler.core.layout import Layout, Query
from scheduler.core.model import Job, Request, Tier
from scheduler.core.policy import Policy


@dataclass(frozen=True, slots=True)
class Want:
    """One size of a request, for work of one tier, under one policy."""

    request: Request
    tier: Tier = Tier.STANDARD
    policy: Policy = field(default_factory=Policy)
    gpus: int = 0  # of an elastic job; 0 = all it asked for
    relaxed: bool = True
    firm: bool = False  # it may not be stopped

    @classmethod
    def of(cls, job: Job, policy: Policy, *, gpus: int = 0, relaxed: bool = True) -> "Want":
        """What a waiting job looks for."""
        return cls(job.request, job.tier, policy, gpus, relaxed, not job.preemptible)

    @property
    def size(self) -> int:
        """How many GPUs it looks for."""
        return self.gpus or self.request.gpus

    def on(self, kind: str) -> "Want":
        """The same on GPUs of one type only."""
        return replace(self, request=replace(self.request, gpu_types=(kind,)))

    def query(self, layout: Layout) -> Query:
        """Worked out for these nodes."""
        return layout.query(self.request, self.size, tier=self.tier, policy=self.policy, relaxed=self.relaxed)

    def fits(self, board: Board) -> bool:
        """Whether this board has a place for it."""
        return board.holds(
            self.request, tier=self.tier, policy=self.policy, gpus=self.size, relaxed=self.relaxed
        )

    def place(self, board: Board) -> Placement | None:
        """Its place on this board."""
        return board.place(
            self.request,
            tier=self.tier,
            policy=self.policy,
            gpus=self.size,
            relaxed=self.relaxed,
            firm=self.firm,
        )
