"""What history says of each job, kept until a group that speaks for it has grown."""

from typing import NamedTuple

from scheduler.sim.forecast import Forecast, foresee, kinsfolk
from scheduler.sim.history import History, Key, Kin
from scheduler.sim.world import World


class Sort(NamedTuple):
    """Jobs that never ran and of which history says the same."""

    kin: Kin
    saves: bool  # it saves its work when asked


class Prospects:
    """Forecasts of jobs by the jobs that are over."""

    def __init__(self) -> None:
        self.history = History()
        self._learned = 0  # how much of the world's history is in it
        self._known: dict[Sort, Forecast] = {}
        self._hearers: dict[Key, dict[Sort, None]] = {}  # whose forecast a group's growth outdates

    def learn(self, world: World) -> dict[Sort, None]:
        """Take in the jobs that are over since the last time; returns of whom history now says something else."""
        outdated: dict[Sort, None] = {}
        for past in world.history[self._learned :]:
            if past.finished:  # a limit cuts a length short: that is none
                ask = world.asks[past.job]
                for key in self.history.learn(Kin(ask.team, ask.user, ask.gpus), past.useful_s):
                    outdated |= self._hearers.pop(key, {})
        self._learned = len(world.history)
        for sort in outdated:
            self._known.pop(sort, None)
        return outdated

    def fresh(self, sort: Sort) -> Forecast:
        """For a job that never ran: worked out once for all of its sort."""
        known = self._known.get(sort)
        if known is None:
            folk = kinsfolk(self.history, sort.kin)
            known = self._known[sort] = foresee(folk.tails, saves=sort.saves)
            for key in folk.heard:
                self._hearers.setdefault(key, {})[sort] = None
        return known

    def resumed(self, sort: Sort, *, seen: float, done: float) -> Forecast:
        """For a job that ran `seen` seconds of work without coming to its end, of which `done` are saved."""
        if seen == 0.0:
            return self.fresh(sort)
        return foresee(kinsfolk(self.history, sort.kin, seen).tails, done=done, saves=sort.saves)
