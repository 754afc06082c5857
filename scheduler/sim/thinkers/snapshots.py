"""From the world to what the core may know of it, kept up to date from thought to thought."""

from collections import deque

from scheduler.core.model import Claim, Lost, Promise, Snapshot, Team
from scheduler.core.verbs import Plan, Why
from scheduler.sim.thinkers.holders import Holders
from scheduler.sim.thinkers.lineup import Lineup
from scheduler.sim.thinkers.portraits import Portraits
from scheduler.sim.thinkers.prospects import Prospects
from scheduler.sim.thinkers.terrain import Terrain
from scheduler.sim.thinkers.wording import NOBODY, teams_of
from scheduler.sim.world import World

HOUR_S = 3600.0


class Snapshots:
    """Snapshots of one world; the cost of each grows with what has changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.portraits, self.prospects, self.terrain = Portraits(), Prospects(), Terrain()
        self.holders = Holders(self.portraits, self.prospects)
        self.lineup = Lineup(self.portraits, self.prospects, self.holders)
        self.teams: tuple[Team, ...] = teams_of(world.site.cluster.crews)
        self.claims: tuple[Claim, ...] = ()
        self.promises: tuple[Promise, ...] = ()
        self._ended = 0  # how much of the world's history was told
        self._moves: deque[float] = deque()  # within an hour

    def look(self) -> None:
        """Bring everything up to date."""
        world = self.world
        for past in world.history[self._ended :]:
            self.holders.end(past.job)
            self.portraits.forget(past.job)
        self._ended = len(world.history)
        self.terrain.look(world)
        self.lineup.look(world, self.prospects.learn(world))
        self.holders.look(world)
        while self._moves and self._moves[0] + HOUR_S <= world.now:
            self._moves.popleft()

    def snapshot(self) -> Snapshot:
        """What is known now."""
        world = self.world
        return Snapshot(
            taken_at=world.now,
            nodes=self.terrain.nodes,
            free=self.terrain.free(world),
            waiting=self.lineup.waiting,
            running=tuple(self.holders.running.values()),
            teams=self.teams,
            policy=world.policy,
            usage=self._usage(),
            claims=self.claims,
            promises=self.promises,
            lost=self._lost(),
            user_stops={user: stops for user, stops in self.holders.user_stops.items() if stops},
            moves_lately=len(self._moves),
        )

    def decided(self, plan: Plan) -> None:
        """Remember what the next plan must know of this one, and whose runs will not be what they were."""
        self.claims, self.promises = plan.claims, plan.promises
        for start in plan.starts:
            self.holders.change(start.job)
        for stop in plan.stops:
            self.holders.change(stop.job)
            if stop.why is Why.MOVED:
                self._moves.append(self.world.now)

    def _usage(self) -> dict[tuple[str, str], float]:
        used = self.world.usage.all(self.world.now)
        return {(team, "" if user == NOBODY else user): amount for (team, user), amount in used.items()}

    def _lost(self) -> tuple[Lost, ...]:
        running, broken = self.world.running, self.world.broken
        return tuple(
            Lost(job, tuple(seat for seat in running[job].seats if seat.node in broken[job]))
            for job in sorted(broken)
        )
